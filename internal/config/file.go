package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxFile bounds what is read: far more than any configuration, far less than a
// device or a log given by mistake.
const maxFile = 4 << 20

// DefaultPaths are tried in order when no path is given; the first that exists
// is read, and when none does the defaults stand alone.
func DefaultPaths() []string { return []string{"config.yaml", "/etc/heed/config.yaml"} }

// open finds and reads the file. A given path must exist. An empty name means
// that there is no file.
func (o Options) open() (name string, data []byte, fault *Fault) {
	read := o.ReadFile
	if read == nil {
		read = readFile
	}
	paths := DefaultPaths()
	if o.Path != "" {
		paths = []string{o.Path}
	}
	for _, p := range paths {
		data, err := read(p)
		switch {
		case err == nil:
			return p, data, nil
		case errors.Is(err, fs.ErrNotExist) && o.Path == "":
			continue
		}
		// The path stands in Where; the error would only repeat it.
		if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
			err = inner.Err
		}
		return p, nil, &Fault{Where: "file " + p, Problem: err.Error(), Allowed: "a YAML file that can be read"}
	}
	return "", nil, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %v", Size(maxFile))
	}
	return data, nil
}
