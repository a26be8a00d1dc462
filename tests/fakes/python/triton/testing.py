def do_bench(fn):
    fn()
    return 1.0
