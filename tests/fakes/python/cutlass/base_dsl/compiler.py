class KeepCUBIN:
    def __init__(self):
        self.value, self.dump_path, self.full_cubin_path = False, "", ""


class Options:
    def __init__(self):
        self.options = {KeepCUBIN: KeepCUBIN()}


class Compiler:
    def compile(self, name, options):
        option = options.options[KeepCUBIN]
        if option.value:
            with open(option.dump_path + ".sm_90a.cubin", "w") as out:
                out.write("image of " + name)

    def jit(self):
        return "engine"
