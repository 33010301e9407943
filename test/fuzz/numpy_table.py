"""What is public in NumPy, and what kind of thing each of its parameters takes."""

import inspect

import numpy as np

MODULES = (("np.", np), ("np.linalg.", np.linalg), ("np.fft.", np.fft), ("np.emath.", np.emath), ("np.strings.", np.strings),
           ("np.polynomial.polynomial.", np.polynomial.polynomial), ("np.polynomial.chebyshev.", np.polynomial.chebyshev), ("np.char.", np.char), ("np.ma.", np.ma))

# Public functions that no program calls, by why.
LEFT_OUT = {
    "reads or writes files": "fromfile fromregex genfromtxt load loadtxt save savetxt savez savez_compressed from_dlpack",
    "prints, or says what this machine is": "info show_config show_runtime get_include test linalg.test fft.test",
    "changes settings of the process": "set_printoptions setbufsize seterrcall geterrcall get_printoptions printoptions seterr",
    "iterates in C only": "nested_iters",
    "says nothing of its own about arrays": "frompyfunc bmat asmatrix row_stack datetime_data ma.mvoid",
    "gives addresses or memory that nothing has filled": "ma.ids ma.masked_all ma.masked_all_like ma.empty ma.empty_like",
}

METHODS_LEFT_OUT = {
    "reads or writes files": "tofile dump",
    "gives addresses": "ctypes data",
    "bytes of a pickle": "dumps",
    "changes the array itself in ways that other names see": "resize",
}


def names_left_out(table):
    return {name for names in table.values() for name in names.split()}


def functions():
    """{text by which it is called: function}, without the ufuncs of NumPy itself."""
    skipped = {"np." + name for name in names_left_out(LEFT_OUT)}
    found = {}
    for prefix, module in MODULES:
        for name in sorted(set(getattr(module, "__all__", dir(module)))):
            thing = getattr(module, name)
            own = isinstance(thing, np.ufunc) and prefix == "np."
            if callable(thing) and not isinstance(thing, type) and not own and not name.startswith("_"):
                if prefix + name not in skipped:
                    found[prefix + name] = thing
    found["np.lib.stride_tricks.sliding_window_view"] = np.lib.stride_tricks.sliding_window_view
    return found


def ufuncs():
    return {f"np.{name}": getattr(np, name) for name in sorted(np.__all__) if isinstance(getattr(np, name), np.ufunc)}


def methods():
    skipped = names_left_out(METHODS_LEFT_OUT)
    return [name for name in dir(np.ndarray) if not name.startswith("_") and callable(getattr(np.ndarray, name))
            and name not in skipped]


def attributes():
    skipped = names_left_out(METHODS_LEFT_OUT)
    return [name for name in dir(np.ndarray) if not name.startswith("_") and not callable(getattr(np.ndarray, name))
            and name not in skipped]


# Kinds of parameters by name. `Words` of words.py has a method for each kind that gives a text.
KINDS = {
    "array": "a x m arr ary array v y z p u b a1 a2 x1 x2 ar1 ar2 prototype val element test_elements values f xp fp seq_of_zeros "
             "target seq A src dst vals sample data X to_end to_begin prepend append other d_array from_array number_array w c1 c2 c roots r pol",
    "weights": "weights fweights aweights",
    "mask": "condition mask where m1 m2",
    "axis": "axis axis1 axis2 axisa axisb axisc source destination",
    "axes": "axes",
    "flag": "keepdims subok endpoint equal_nan assume_unique overwrite_input copy rowvar bias returned return_index "
            "return_inverse return_counts sorted increasing upper full_matrices compute_uv hermitian density right sparse invert "
            "retstep full cov wrap fractional unique include_initial return_indices stable optimize inplace sign tensor masked_equal "
            "hardmask hard_mask keep_mask shrink endwith propagate_mask allow_masked strict compressed keepends rstrip unicode",
    "count": "n k M N num ddof correction decimals deg offset ndim ndmin ndmax minlength precision padding width count max_work "
             "base pad_left pad_right min_digits exp_digits number edge_order skip start_or_stop max_rows wrap_count pow maxpower "
             "npts end tabsize i itemsize maxsplit",
    "number": "rtol atol rcond tol beta d dx fill_value nan posinf neginf initial left start stop step period discont default "
              "a_min a_max min max value fill mean off scl lbnd v1 v2 third",
    "dtype": "dtype ndtype from_ to type1 type2 arg1 arg2",
    "shape": "shape newshape new_shape dims dimensions reps s",
    "indices": "indices ind kth multi_index obj repeats shift sorter",
    "sections": "indices_or_sections",
    "arrays": "arrays tup choices condlist choicelist keys",
    "pads": "pad_width",
    "fractions": "q",
    "bins": "bins",
    "interval": "range",
    "order": "order",
}

KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}

CHOICES = {
    "casting": ["'no'", "'equiv'", "'safe'", "'same_kind'", "'unsafe'"],
    "norm": ["'ortho'", "'forward'", "'backward'", "None"],
    "side": ["'left'", "'right'"],
    "indexing": ["'ij'", "'xy'"],
    "UPLO": ["'L'", "'U'"],
    "bitorder": ["'big'", "'little'"],
    "method": ["'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'median_unbiased'", "'inverted_cdf'", "'hazen'"],
    "ord": ["None", "1", "2", "-1", "-2", "np.inf", "-np.inf", "0", "'fro'", "'nuc'", "3"],
    "trim": ["'fb'", "'f'", "'b'", "'k'"],
    "roll": ["'forward'", "'raise'"],
    "cmp": ["'=='", "'<'", "'!='", "'none such'"],
    "fxarray": ["a"],
    "params": ["1", "0"],
    "mode": ["'full'", "'same'", "'valid'", "'raise'", "'wrap'", "'clip'"],
    "kind": ["None", "'stable'", "'quicksort'", "'heapsort'"],
    "device": ["None", "'cpu'", "'gpu'"],
    "func1d": ["np.sum", "np.sort", "lambda x: x * 2", "np.cumsum", "len"],
    "func": ["np.sum", "np.max"],
    "function": ["lambda *i: i[0]", "lambda *i: sum(i)"],
    "mask_func": ["np.triu", "np.tril"],
    "funclist": ["[1, lambda x: -x]", "[lambda x: x + 1, 0]", "[1, 2, 3]"],
    "requirements": ["'C'", "'F'", "['A', 'W']", "'O'", "None"],
    "like": ["None"],
    "typechars": ["'fd'", "['f', 'D']"],
    "char": ["'d'", "'S1'"],
    "object": ["[1, 2.5]", "[[1, 2], [3, 4]]", "a", "(a, a)", "[a, a]", "[]", "3", "None", "range(3)"],
    "iter": ["range(4)", "(i * 2 for i in range(3))", "[True, 2]"],
    "string": ["'1 2 3'"],
    "buffer": ["b'abcdefgh'", "bytearray(16)"],
    "legacy": ["None"],
    "separator": ["' '", "', '"],
    "fillchar": ["'*'", "b'-'", "np.array(['a', 'b'])"],
    "sub": ["'a'", "b'a'", "''"],
    "suffix": ["'a'", "b'c'"],
    "prefix": ["'a'", "b'c'"],
    "sep": ["','", "b'b'", "''"],
    "old": ["'a'", "b'a'"],
    "new": ["'xyz'", "b''"],
    "chars": ["None", "'a'", "b' '"],
    "encoding": ["None", "'utf-8'", "'ascii'", "'none such'"],
    "errors": ["None", "'ignore'"],
    "table": ["'x' * 256", "{97: 'b'}", "bytes(range(256))"],
    "deletechars": ["None", "b'a'"],
}

# Where a parameter's name says something else in one function, or what matters is a call as a whole.
SPECIAL = {
    "np.sort": {"kind": ["None", "'stable'", "'quicksort'"], "order": ["None"]},
    "np.argsort": {"kind": ["None", "'stable'", "'heapsort'"], "order": ["None"]},
    "np.partition": {"kind": ["'introselect'"], "order": ["None"]},
    "np.argpartition": {"kind": ["'introselect'"], "order": ["None"]},
    "np.isin": {"kind": ["None", "'sort'", "'table'"]},
    "np.isdtype": {"kind": ["'integral'", "'real floating'", "'numeric'", "np.float32"], "dtype": ["a.dtype", "np.dtype('i4')"]},
    "np.choose": {"a": ["np.array([0, 1, 0])", "a", "1", "a > 0"], "mode": ["'raise'", "'wrap'", "'clip'"]},
    "np.put": {"mode": ["'raise'", "'wrap'", "'clip'"]},
    "np.take": {"mode": ["'raise'", "'wrap'", "'clip'"]},
    "np.convolve": {"mode": ["'full'", "'same'", "'valid'"]},
    "np.correlate": {"mode": ["'full'", "'same'", "'valid'"]},
    "np.ravel_multi_index": {"mode": ["'raise'", "'wrap'", "'clip'"], "multi_index": ["([0, 1], [1, 0])", "(a, a)", "(1, 2)"]},
    "np.pad": {"mode": ["'constant'", "'edge'", "'reflect'", "'symmetric'", "'wrap'", "'linear_ramp'", "'maximum'", "'mean'",
                        "'minimum'", "'median'", "'none such'"]},
    "np.linalg.qr": {"mode": ["'reduced'", "'complete'", "'r'", "'raw'"]},
    "np.einsum": {"args": ["'ij->ji'", "'ij,jk->ik'", "'i,i'", "'ii->i'", "'ii'", "'...i->...'", "'ij,ij->i'"]},
    "np.einsum_path": {"args": ["'ij,jk->ik'"]},
    "np.unwrap": {"p": "array"},
    "np.rollaxis": {"start": "axis"},
    "np.unravel_index": {"shape": "shape"},
    "np.permute_dims": {"axes": "axes"},
    "np.roots": {"p": "array"},
    "np.vander": {"N": "count"},
    "np.tile": {"reps": ["2", "(2, 1)", "(1, 2, 3)", "0", "[3]", "(-1, 2)"]},
    "np.roll": {"shift": ["1", "-2", "(1, 2)", "7", "0", "-100", "1.0"]},
    "np.round": {"decimals": ["0", "1", "-1", "2", "20", "-20", "np.int8(1)"]},
    "np.around": {"decimals": ["0", "1", "-1", "2"]},
    "np.copyto": {"src": "array"},
    "np.mean": {"where": "mask"},
    "np.linspace": {"num": "count"},
    "np.logspace": {"base": "number"},
    "np.full": {"fill_value": "operand"},
    "np.full_like": {"fill_value": "operand"},
    "np.fill_diagonal": {"val": "operand", "wrap": "flag"},
    "np.trim_zeros": {"filt": "array", "trim": ["'fb'", "'f'", "'b'"]},
    "np.interp": {"x": "operand", "left": "number", "right": "number"},
    "np.clip": {"a_min": "operand", "a_max": "operand"},
    "np.cross": {},
    "np.average": {"weights": "weights"},
    "np.bincount": {"x": ["np.array([0, 2, 1])", "a"]},
    "np.base_repr": {"number": ["5", "-7"], "base": ["2", "3", "40"]},
    "np.binary_repr": {"num": ["5", "-7"], "width": ["None", "8", "2"]},
    "np.busday_count": {"begindates": ["'2020-01-01'"], "enddates": ["'2020-03-01'"], "weekmask": ["'1111100'"], "holidays": ["[]"],
                        "busdaycal": ["None"]},
    "np.busday_offset": {"dates": ["'2020-01-01'"], "offsets": ["2", "a"], "weekmask": ["'1111100'"], "holidays": ["[]"],
                         "busdaycal": ["None"]},
    "np.is_busday": {"dates": ["'2020-01-01'"], "weekmask": ["'1111100'"], "holidays": ["[]"], "busdaycal": ["None"]},
    "np.datetime_as_string": {"arr": ["np.array([3], 'M8[D]')"], "unit": ["None", "'auto'"], "timezone": ["'naive'"]},
    "np.nanmedian": {},
    "np.histogram2d": {},
    "np.piecewise": {"condlist": ["[a > 0, a < 0]", "[a > 1]"], "args": "count", "kw": "count"},
    "np.select": {"condlist": ["[a > 0, a < -1]", "[a > 0]"], "choicelist": ["[a, 1]", "[a, -a]", "[a]"]},
    "np.apply_along_axis": {"args": "nothing", "kwargs": "nothing"},
    "np.apply_over_axes": {"axes": "axes"},
    "np.lexsort": {"keys": ["(a, a)", "[a]", "a"]},
    "np.format_float_positional": {"x": ["0.5", "np.float32(3)"]},
    "np.format_float_scientific": {"x": ["0.5", "np.float32(3)"]},
    "np.issubdtype": {"arg1": ["a.dtype", "'f4'"], "arg2": ["np.floating", "np.integer"]},
    "np.typename": {},
    "np.array2string": {"formatter": ["None"], "floatmode": ["'fixed'"], "threshold": ["1000"], "edgeitems": ["3"],
                        "prefix": ["''"], "suffix": ["''"], "sign": ["'-'"], "max_line_width": ["None"], "suppress_small": "flag"},
    "np.array_repr": {"max_line_width": ["None"], "suppress_small": "flag"},
    "np.array_str": {"max_line_width": ["None"], "suppress_small": "flag"},
    "np.fromstring": {},
    "np.kaiser": {},
    "np.mintypecode": {"typeset": ["'GDFgdf'"], "default": ["'d'"]},
    "np.isscalar": {"element": ["3.0", "a", "'x'"]},
    "np.iterable": {},
    "np.linalg.multi_dot": {},
    "np.polynomial.chebyshev.chebinterpolate": {"func": ["lambda x: x * x", "np.tanh"], "args": "nothing"},
    "np.polynomial.polynomial.polyfit": {"x": ["np.arange(4.0)", "a"], "y": ["np.array([1.0, 3.0, 2.0, 5.0])", "a"], "deg": ["1", "[0, 2]"]},
    "np.polynomial.chebyshev.chebfit": {"x": ["np.arange(4.0)", "a"], "y": ["np.array([1.0, 3.0, 2.0, 5.0])", "a"], "deg": ["1", "[0, 2]"]},
    "np.meshgrid": {},
    "np.array": {"ndmin": ["0", "2"], "ndmax": ["0"]},
    "np.transpose": {"axes": "permutation"},
    "np.linalg.tensordot": {"axes": ["1", "0", "2", "([0], [0])", "([1], [0])"]},
    "np.tensordot": {"axes": ["1", "0", "2", "([0], [0])", "([1], [0])", "([-1], [0])", "([1, 1], [0, 0])", "([0, -1], [0, 1])"]},
    "np.rot90": {"axes": ["(0, 1)", "(1, 0)", "(0, 0)", "(-1, -2)"]},
    "np.geomspace": {"num": "count"},
    "np.heaviside": {},
    "np.unpackbits": {"a": ["np.array([3, 200], np.uint8)", "a"]},
    "np.polyfit": {"x": ["np.arange(4.0)", "a"], "y": ["np.array([1.0, 3.0, 2.0, 5.0])", "a"], "deg": ["1", "2"]},
    "np.vsplit": {}, "np.hsplit": {}, "np.dsplit": {},
    "np.linalg.matrix_power": {"n": ["0", "1", "2", "3", "-1"]},
    "np.lib.stride_tricks.sliding_window_view": {"window_shape": ["2", "(1, 2)", "3", "0", "-1", "(2, 2)"], "writeable": "flag"},
    "np.arange": {"step": "number", "stop": "number"},
    "np.astype": {}, "np.where": {},
    "np.getbufsize": {}, "np.geterr": {},
    "np.gradient": {"varargs": "number"},
}

# Calls that give the same bits however they are computed; of real numbers only. Moves, comparisons, and what IEEE 754 rounds.
EXACT = set("""
add subtract multiply divide true_divide negative positive absolute abs fabs sqrt square reciprocal floor ceil trunc rint sign signbit
copysign maximum minimum fmax fmin max min amax amin isnan isinf isfinite isneginf isposinf greater greater_equal less less_equal equal
not_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not invert bitwise_invert left_shift
right_shift bitwise_left_shift bitwise_right_shift bitwise_count floor_divide remainder mod fmod divmod ldexp frexp modf nextafter
spacing heaviside gcd lcm clip where copy array asarray asanyarray ascontiguousarray asfortranarray reshape ravel transpose swapaxes
moveaxis rollaxis squeeze expand_dims broadcast_to broadcast_arrays concatenate concat stack vstack hstack dstack column_stack split
array_split hsplit vsplit dsplit tile repeat delete insert append resize flip fliplr flipud roll rot90 sort argsort argmax argmin
argpartition partition nonzero flatnonzero argwhere searchsorted take choose compress extract place put putmask copyto fill_diagonal diag
diagflat diagonal tril triu tri eye identity zeros ones empty full zeros_like ones_like empty_like full_like arange indices
atleast_1d atleast_2d atleast_3d all any count_nonzero astype view flatten item tolist tobytes fill byteswap getfield setfield conj
conjugate real imag unique isin take_along_axis put_along_axis select unstack matrix_transpose permute_dims block round around fix
nan_to_num ndim size shape T flat strides dtype nbytes itemsize float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32
uint64 bool_ bool ptp isreal isrealobj iscomplex iscomplexobj array_equal array_equiv errstate
""".split())


def parameters(function):
    """[(name, required, positional)], or None if nothing says."""
    if isinstance(function, np.ufunc):
        return None
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    kinds = inspect.Parameter
    return [(p.name, p.default is kinds.empty and p.kind not in (kinds.VAR_KEYWORD, kinds.VAR_POSITIONAL),
             {kinds.VAR_POSITIONAL: "many", kinds.KEYWORD_ONLY: "keyword", kinds.VAR_KEYWORD: "keywords"}.get(p.kind, "positional"))
            for p in signature.parameters.values() if p.name != "self"]
