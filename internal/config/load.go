package config

import (
	"fmt"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Options say where settings may come from. The zero value reads the default
// file, and neither variables nor flags.
type Options struct {
	// Path is the file to read, and must exist. "" tries DefaultPaths.
	Path string

	// Defaults replaces built-in defaults, by key, for a command that has its
	// own. Written as in the environment; Source calls them default too.
	Defaults map[string]string

	// Environ is the environment as os.Environ returns it.
	Environ []string

	// Flags may hold flags that AddFlags defined. Those the user gave count.
	Flags *pflag.FlagSet

	// ReadFile replaces reading from the file system. It must report a missing
	// file with an error that is fs.ErrNotExist.
	ReadFile func(path string) ([]byte, error)
}

// Loaded is a valid configuration and where it came from. It is not changed
// after Load returns, and belongs to the caller.
type Loaded struct {
	Config   Config
	Path     string   // the file that was read; "" when there is none
	Warnings []string // for people, in no fixed form

	sources map[string]string
}

// Load reads, merges and validates. On faults it returns a nil Loaded and an
// *Error with all of them.
func Load(o Options) (*Loaded, error) {
	path, data, unread := o.open()
	layers := []*layer{defaults(o.Defaults), document(path, data), environment(o.Environ), flags(o.Flags)}
	out := &Loaded{Path: path, sources: map[string]string{}}
	var faults []Fault
	if unread != nil {
		faults = append(faults, *unread)
	}
	refused := map[string]bool{}
	for _, l := range layers {
		faults = append(faults, l.faults...)
		out.Warnings = append(out.Warnings, l.warnings...)
		for _, f := range l.faults {
			refused[f.Key] = true
		}
		for name, source := range l.sources {
			out.sources[name] = source
		}
	}
	if err := merge(layers, &out.Config); err != nil {
		faults = append(faults, Fault{Problem: err.Error()})
	}
	// A fault without a key means that part of the file is not known. What is
	// missing there must not be held against the rest.
	if !refused[""] && unread == nil {
		warnings, invalid := out.Config.validate(refused)
		for _, f := range invalid {
			f.Where = out.Source(f.Key)
			faults = append(faults, f)
		}
		out.Warnings = append(out.Warnings, warnings...)
	}
	if len(faults) > 0 {
		return nil, &Error{Faults: faults}
	}
	return out, nil
}

// Source tells where the value of the key came from: "default", "file
// config.yaml:12", "environment HEED_MODE" or "flag --mode"; "" for an unknown
// key.
func (l *Loaded) Source(name string) string { return l.sources[name] }

func defaults(replaced map[string]string) *layer {
	l := newLayer()
	for _, k := range table {
		if k.fileOnly() {
			l.sources[k.name] = "default" // and no object is in it
			continue
		}
		value := k.fallback
		if v, ok := replaced[k.name]; ok {
			value = v
		}
		l.setText(k, value, "default")
	}
	for name := range replaced {
		if _, known := lookup(name); !known {
			l.fault(Fault{Key: name, Where: "default", Problem: "unknown key"})
		}
	}
	return l
}

// merge lets viper weigh the layers: defaults, file with the environment over
// it, flags. Each value has its final type by now, so viper's own guesses at
// types are off. A fresh viper, because the global one keeps what it once saw.
func merge(layers []*layer, c *Config) error {
	v := viper.New()
	for name, value := range layers[0].values {
		v.SetDefault(name, value)
	}
	for _, l := range layers[1:3] {
		if err := v.MergeConfigMap(l.nested()); err != nil {
			return fmt.Errorf("merge: %w", err)
		}
	}
	for name, value := range layers[3].values {
		v.Set(name, value)
	}
	return v.UnmarshalExact(c, func(d *mapstructure.DecoderConfig) {
		d.WeaklyTypedInput = false
		d.DecodeHook = nil
	})
}
