"""Names that kernels annotate with."""


class constexpr:
    pass
