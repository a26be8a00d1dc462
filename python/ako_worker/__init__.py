"""ako's worker in an interpreter: loads a module, hands it the keeper's buffers and makes its calls, while the
conversation with ako, the sandbox and the clocks stay in libako_worker. Standard library alone, Python 3.10 to 3.13."""

FORMAT = 1  # of bundles
