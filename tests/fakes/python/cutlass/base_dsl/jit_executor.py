class JitExecutor:
    def __init__(self, function):
        self.function = function

    def run_compiled_program(self, arguments):
        return self.function(*arguments)


class JitCompiledFunction:
    def __init__(self, function, name, engine):
        self.function, self.function_name, self.engine = function, name, engine
        self.kernel_info = {f"kernel_{name}_0": {}}

    def __call__(self, *arguments):
        return self.run_compiled_program(arguments)

    def run_compiled_program(self, arguments):
        return JitExecutor(self.function).run_compiled_program(arguments)

    def export_to_c(self, file_path, file_name, function_prefix=""):
        for ending in (".h", ".o"):
            with open(f"{file_path}/{file_name}{ending}", "w") as out:
                out.write(function_prefix + self.function_name)
