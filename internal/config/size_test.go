package config_test

import (
	"testing"

	"heed/internal/config"
)

func TestSize(t *testing.T) {
	for _, c := range []struct {
		in   string
		want config.Size
		out  string // "" is refused
	}{
		{"512KiB", 524288, "512KiB"},
		{"1MiB", 1048576, "1MiB"},
		{"64KB", 64000, "64KB"},
		{"64kB", 64000, "64KB"},
		{"10B", 10, "10B"},
		{"0B", 0, "0B"},
		{"1024B", 1024, "1KiB"},
		{"1500B", 1500, "1500B"},
		{"512 KiB", 524288, "512KiB"},
		{"2GB", 2e9, "2GB"},
		{in: ""}, {in: "512"}, {in: "KiB"}, {in: "-1KiB"}, {in: "1.5MiB"}, {in: "1K"}, {in: "1kib"}, {in: "1e3B"}, {in: "0x1B"},
		{in: "9223372036854775808B"}, {in: "9007199254740992KiB"}, {in: "99999999999999999999GiB"},
	} {
		got, err := config.ParseSize(c.in)
		if (err == nil) != (c.out != "") || got != c.want {
			t.Errorf("%q: got %d, %v; want %d", c.in, got, err, c.want)
		}
		if err == nil && got.String() != c.out {
			t.Errorf("%q: prints %s, want %s", c.in, got, c.out)
		}
	}
}
