package ca

import "path/filepath"

// DefaultDir is where the CA lives when nothing else is said: heed's folder in $XDG_DATA_HOME, else in
// $HOME/.local/share, else /var/lib/heed, which is where a service without a home keeps its state. As the XDG base
// directory specification demands, a relative $XDG_DATA_HOME is ignored, and so is a relative $HOME.
func DefaultDir(getenv func(string) string) string {
	if data := getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "heed")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "heed")
	}
	return "/var/lib/heed"
}
