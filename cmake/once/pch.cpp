// The one unit that the precompiled headers belong to.
