// All the C++ there is: what MLIR offers no C entry point for. Every function here forwards to C,
// or from one class of LLVM's to another; logic never goes in this file.
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Rewrite.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/InliningUtils.h"

#include "dialects/dialect.h"
#include "dialects/pass.h"
extern "C" {
#include "passes/passes.h"
}

#ifndef LOOM_GLUE_TOOLS // ---- the dialect, in the compiler library ----

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/LLVMIR/Transforms/InlinerInterfaceImpl.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include "LoomDialect.h.inc"
#define GET_OP_CLASSES
#include "LoomOps.h.inc"

static llvm::LogicalResult verifySymbols(mlir::Operation *op,
                                         mlir::SymbolTableCollection &symbols) {
  loom_lookup lookup = [](void *symbols, MlirOperation from, MlirAttribute name) {
    return wrap(static_cast<mlir::SymbolTableCollection *>(symbols)->lookupNearestSymbolFrom(
        unwrap(from), mlir::cast<mlir::SymbolRefAttr>(unwrap(name))));
  };
  return unwrap(loom_verify_symbols(wrap(op), lookup, &symbols));
}

#include "LoomDialect.cpp.inc"
#define GET_OP_CLASSES
#include "LoomOps.cpp.inc"

namespace {
struct LoomInliner : mlir::DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(mlir::Operation *, mlir::Region *, bool, mlir::IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(mlir::Region *, mlir::Region *, bool, mlir::IRMapping &) const final {
    return true;
  }
};
} // namespace

void loom::LoomDialect::initialize() {
  addInterfaces<LoomInliner>();
  addOperations<
#define GET_OP_LIST
#include "LoomOps.cpp.inc"
      >();
}

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Loom, loom, loom::LoomDialect)

// ---- fold and constant materialisation
// ----------------------------------------------------------------------------

namespace {
mlir::OpFoldResult fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands) {
  llvm::SmallVector<MlirAttribute, 4> constants;
  for (mlir::Attribute attribute : operands)
    constants.push_back(wrap(attribute));
  loom_folded folded = loom_fold_op(wrap(op), constants.size(), constants.data());
  if (folded.value.ptr) return unwrap(folded.value);
  return unwrap(folded.attribute);
}
} // namespace

mlir::Operation *loom::LoomDialect::materializeConstant(mlir::OpBuilder &builder,
                                                        mlir::Attribute value, mlir::Type type,
                                                        mlir::Location loc) {
  if (!loom_can_materialize(wrap(value), wrap(type))) return nullptr;
  return loom::ConstantOp::create(builder, loc, type, value);
}

#define LOOM_FOLD(CLASS)                                                                           \
  mlir::OpFoldResult loom::CLASS::fold(FoldAdaptor adaptor) {                                      \
    return ::fold(getOperation(), adaptor.getOperands());                                          \
  }
#include "loom_folds.inc"
#undef LOOM_FOLD

// ---- type inference
// -------------------------------------------------------------------------------------------------

namespace {
template <typename OpType>
llvm::LogicalResult infer(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                          mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                          mlir::OpaqueProperties properties,
                          llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Attribute all = attributes;
  if constexpr (OpType::hasProperties())
    if (properties)
      all = OpType::getPropertiesAsAttr(context, *properties.as<typename OpType::Properties *>());
  llvm::SmallVector<MlirValue, 4> values;
  for (mlir::Value value : operands)
    values.push_back(wrap(value));
  MlirType type = {nullptr};
  MlirLocation where = location ? wrap(*location) : MlirLocation{nullptr};
  if (mlirLogicalResultIsFailure(loom_infer_types(wrap(context), where,
                                                  wrap(OpType::getOperationName()), values.size(),
                                                  values.data(), wrap(all), &type)))
    return llvm::failure();
  types.push_back(unwrap(type));
  return llvm::success();
}
} // namespace

#define LOOM_INFER(CLASS)                                                                          \
  llvm::LogicalResult loom::CLASS::inferReturnTypes(                                               \
      mlir::MLIRContext *context, std::optional<mlir::Location> location,                          \
      mlir::ValueRange operands, mlir::DictionaryAttr attributes,                                  \
      mlir::OpaqueProperties properties, mlir::RegionRange,                                        \
      llvm::SmallVectorImpl<mlir::Type> &types) {                                                  \
    return ::infer<CLASS>(context, location, operands, attributes, properties, types);             \
  }
#include "loom_infers.inc"
#undef LOOM_INFER

// ---- passes in C
// ----------------------------------------------------------------------------------------------------

namespace {
struct LoomPass : mlir::Pass {
  LoomPass(const loom_pass_spec *spec, mlir::TypeID id)
      : Pass(id, *spec->root ? std::optional<llvm::StringRef>(spec->root) : std::nullopt),
        spec(spec) {
    for (const loom_pass_option *o = spec->options; o < std::end(spec->options) && o->name; o++)
      options.push_back(std::make_unique<Option<int64_t>>(
          *this, o->name, llvm::cl::desc(o->summary), llvm::cl::init(o->otherwise)));
    if (spec->text.name)
      text = std::make_unique<Option<std::string>>(*this, spec->text.name,
                                                   llvm::cl::desc(spec->text.summary));
  }
  llvm::StringRef getName() const final { return spec->name; }
  llvm::StringRef getArgument() const final { return spec->flag; }
  llvm::StringRef getDescription() const final { return spec->summary; }
  void getDependentDialects(mlir::DialectRegistry &registry) const final {
    mlirDialectHandleInsertDialect(mlirGetDialectHandle__loom__(), wrap(&registry));
    for (intptr_t i = 0; i < spec->dialect_count; i++)
      mlirDialectHandleInsertDialect(spec->dialects[i], wrap(&registry));
  }
  bool canScheduleOn(mlir::RegisteredOperationName op) const final {
    return !getOpName() || op.getStringRef() == *getOpName();
  }
  std::unique_ptr<Pass> clonePass() const final {
    return std::make_unique<LoomPass>(spec, getTypeID());
  }
  void runOnOperation() final {
    llvm::SmallVector<int64_t, LOOM_PASS_OPTIONS> values;
    for (auto &option : options)
      values.push_back(*option);
    bool engine = getContext().getRemarkEngine() != nullptr;
    loom_running running = {spec, values.data(), text ? text->c_str() : "", explain, engine};
    if (!loom_pass_run(wrap(getOperation()), &running)) signalPassFailure();
  }
  const loom_pass_spec *spec;
  std::vector<std::unique_ptr<Option<int64_t>>> options;
  std::unique_ptr<Option<std::string>> text;
  Option<bool> explain{*this, "explain",
                       llvm::cl::desc("Say in remarks what is done and not, and why")};
};
} // namespace

extern "C" MlirPass loom_pass_make(const loom_pass_spec *spec, MlirTypeID id) {
  return wrap(static_cast<mlir::Pass *>(new LoomPass(spec, unwrap(id))));
}

extern "C" void loom_emit_remark(loom_remark_kind kind, MlirLocation loc, const char *category,
                                 const char *name, const char *text, const loom_running *running) {
  if (running->explains) mlir::emitRemark(unwrap(loc)) << text;
  auto emit = kind == LOOM_REMARK_PASSED   ? mlir::remark::passed
              : kind == LOOM_REMARK_MISSED ? mlir::remark::missed
                                           : mlir::remark::analysis;
  emit(unwrap(loc), mlir::remark::RemarkOpts::name(name).category(category)) << text;
}

extern "C" void loom_register_pass(MlirPass (*make)(void)) {
  mlir::registerPass([make] { return std::unique_ptr<mlir::Pass>(unwrap(make())); });
}

extern "C" void loom_register_pipeline(const char *flag, const char *summary,
                                       void (*build)(MlirOpPassManager)) {
  auto add = [build](mlir::OpPassManager &manager, llvm::StringRef options,
                     llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> fail) {
    if (!options.empty()) return fail("a pipeline has no options: " + options);
    build(wrap(&manager));
    return llvm::success();
  };
  mlir::registerPassPipeline(flag, summary, add, [](auto) {});
}

// ---- what a compilation needs of MLIR: all dialects and their extensions would cost milliseconds
// ---------------------

extern "C" void loom_register_conversions(MlirDialectRegistry handle) {
  mlir::DialectRegistry &registry = *unwrap(handle);
  mlir::arith::registerConvertArithToLLVMInterface(registry);
  mlir::cf::registerConvertControlFlowToLLVMInterface(registry);
  mlir::registerConvertFuncToLLVMInterface(registry);
  mlir::ub::registerConvertUBToLLVMInterface(registry);
  mlir::vector::registerConvertVectorToLLVMInterface(registry);
}

extern "C" void loom_register_inliners(MlirDialectRegistry handle) {
  mlir::func::registerInlinerExtension(*unwrap(handle));
  mlir::LLVM::registerInlinerInterface(*unwrap(handle));
}

extern "C" void loom_register_translations(MlirContext context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  unwrap(context)->appendDialectRegistry(registry);
}

// ---- plugins of mlir-opt
// ----------------------------------------------------------------------------------------------

extern "C" __attribute__((visibility("default"))) mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Loom", "0.1",
          [](mlir::DialectRegistry *registry) { registry->insert<loom::LoomDialect>(); }};
}

namespace {
// Passes as flags of mlir-opt, which knows those alone that were there before it began to read its
// command line. From the plugin on, every flag of a pass (theirs, too, so that the order counts)
// adds to a pipeline, whose text is given to --pass-pipeline.
using OptionMap = llvm::DenseMap<llvm::StringRef, llvm::cl::Option *>;

// An option that stands where another one stood.
struct InPlaceOf : llvm::cl::Option {
  InPlaceOf(llvm::cl::Option *theirs)
      : Option(llvm::cl::ZeroOrMore, llvm::cl::NotHidden), theirs(theirs) {
    for (auto &named : llvm::cl::getRegisteredOptions())
      if (named.second == theirs) named.second = this;
  }
  llvm::cl::ValueExpected getValueExpectedFlagDefault() const override {
    return theirs->getValueExpectedFlag();
  }
  size_t getOptionWidth() const override { return theirs->getOptionWidth(); }
  void printOptionInfo(size_t width) const override { theirs->printOptionInfo(width); }
  void printOptionValue(size_t, bool) const override {}
  void setDefault() override { theirs->setDefault(); }
  llvm::cl::Option *theirs;
};

struct PassFlags : InPlaceOf {
  using Failure = llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)>;
  PassFlags(llvm::cl::Option *theirs, llvm::cl::opt<std::string> *text)
      : InPlaceOf(theirs), text(text) {
    for (size_t i = 0; loom_pass_flag(i); i++)
      llvm::cl::AddLiteralOption(*this, loom_pass_flag(i));
  }
  bool handleOccurrence(unsigned position, llvm::StringRef name, llvm::StringRef options) override {
    if (theirs->getNumOccurrences())
      return error("passes are flags in front of the plugin or behind it, not both", name);
    if (text->getNumOccurrences() && !given) return error("--pass-pipeline is given, too", name);
    std::string said = "wrong options";
    auto fail = [&](const llvm::Twine &message) {
      if (!message.str().empty()) said = llvm::StringRef(message.str()).trim().str();
      return mlir::failure();
    };
    std::string added = written(name, options, fail);
    if (added.empty()) return error(said, name);
    all += (given ? "," : "") + added;
    if (!given && text->addOccurrence(position, text->ArgStr, all)) return true;
    given = true;
    text->setValue("builtin.module(" + all + ")");
    return false;
  }
  // In a pipeline for modules: a pass as it is given, a pipeline as its passes; empty: it fails.
  static std::string written(llvm::StringRef name, llvm::StringRef options, Failure fail) {
    using mlir::OpPassManager;
    OpPassManager any(OpPassManager::Nesting::Implicit);
    OpPassManager module("builtin.module", OpPassManager::Nesting::Implicit);
    const mlir::PassPipelineInfo *info = mlir::PassPipelineInfo::lookup(name);
    OpPassManager &passes = info ? module : any;
    if (mlir::failed(entry(name)->addToPipeline(passes, options, fail)) || passes.empty())
      return "";
    std::string made;
    llvm::raw_string_ostream stream(made);
    if (info) {
      passes.printAsTextualPipeline(stream);
      return made.substr(made.find('(') + 1, made.size() - made.find('(') - 2);
    }
    stream << name;
    if (!options.empty()) stream << '{' << options << '}';
    std::optional<llvm::StringRef> root = passes.begin()->getOpName();
    return root && *root != "builtin.module" ? (*root + "(" + made + ")").str() : made;
  }
  static const mlir::PassRegistryEntry *entry(llvm::StringRef name) {
    if (const mlir::PassRegistryEntry *found = mlir::PassPipelineInfo::lookup(name)) return found;
    return mlir::PassInfo::lookup(name);
  }
  void printOptionInfo(size_t width) const override {
    theirs->printOptionInfo(width);
    for (size_t i = 0; loom_pass_flag(i); i++)
      entry(loom_pass_flag(i))->printHelpStr(4, width);
  }
  llvm::cl::opt<std::string> *text;
  std::string all;
  bool given = false;
};

struct PipelineFlag : InPlaceOf {
  PipelineFlag(const PassFlags *flags, llvm::cl::Option *theirs)
      : InPlaceOf(theirs), flags(flags) {}
  bool handleOccurrence(unsigned position, llvm::StringRef name, llvm::StringRef value) override {
    if (flags->given) return error("passes are given as flags, too", name);
    return theirs->addOccurrence(position, name, value);
  }
  const PassFlags *flags;
};

// A tool that has no flags of passes, or ours already, is left as it is. These are there until the
// process ends.
void addPassFlags() {
  OptionMap &known = llvm::cl::getRegisteredOptions();
  llvm::cl::Option *theirs = known.lookup("canonicalize"), *text = known.lookup("pass-pipeline");
  llvm::cl::Option *alias = known.lookup("p");
  if (!theirs || !text || known.contains(loom_pass_flag(0))) return;
  auto *flags = new PassFlags(theirs, static_cast<llvm::cl::opt<std::string> *>(text));
  new PipelineFlag(flags, text);
  if (alias && alias->HelpStr == "Alias for --pass-pipeline") new PipelineFlag(flags, alias);
}
} // namespace

extern "C" __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Loom", "0.1", [] {
            loom_register_passes();
            addPassFlags();
          }};
}

#else // ---- mains of the tools, an object of their own: programs of the tests go without ----

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

extern "C" int loom_opt_main(int argc, char **argv, MlirDialectRegistry registry) {
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "loom optimizer\n", *unwrap(registry));
  bool replaced = false;
  if (!loom_check_input(argc, argv, input.c_str(), registry, &replaced)) return 1;
  if (replaced) input = "-";
  bool failed = mlir::failed(mlir::MlirOptMain(argc, argv, input, output, *unwrap(registry)));
  if (loom_has_option(argc, argv, "mlir-pass-statistics")) loom_print_counters();
  return failed;
}

extern "C" int loom_lsp_main(int argc, char **argv, MlirDialectRegistry registry) {
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, *unwrap(registry)));
}

#endif
