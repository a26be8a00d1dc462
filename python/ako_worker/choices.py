"""What an autotuner chose, kept in the artifact's own folder: a later process of the same artifact runs what was chosen
first. Triton keeps such choices itself, but not those of configurations that bring a hook."""
import json
import os


class Choices(dict):
    """In the place of a tuner's cache: {key: configuration}. Looks into the folder for keys that it does not hold."""

    def __init__(self, held, configs, file):
        super().__init__(held)
        self.configs = {str(config): config for config in configs}
        self.file = file

    def __contains__(self, key):
        if super().__contains__(key):
            return True
        config = self.configs.get(self.read().get(str(key)))
        if config is None:
            return False
        super().__setitem__(key, config)
        return True

    def __setitem__(self, key, config):
        super().__setitem__(key, config)
        kept = self.read()
        if kept.setdefault(str(key), str(config)) == str(config):
            self.write(kept)

    def read(self):
        try:
            with open(self.file, encoding="utf-8") as file:
                kept = json.load(file)
            return kept if isinstance(kept, dict) else {}
        except (OSError, ValueError):
            return {}

    def write(self, kept):
        part = f"{self.file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self.file), exist_ok=True)
            with open(part, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(part, self.file)
        except OSError:
            pass  # it is tuned again next time


def keep(tuner, folder, device):
    """Puts the choices of one tuner into `folder`; `device` tells machines apart that share it."""
    name = getattr(getattr(tuner, "base_fn", None), "__name__", "kernel")
    if isinstance(getattr(tuner, "cache", None), dict) and not isinstance(tuner.cache, Choices):
        tuner.cache = Choices(tuner.cache, getattr(tuner, "configs", ()),
                              os.path.join(folder, "choices", device or "host", f"{name}.json"))
