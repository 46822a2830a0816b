package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, never negative when it comes from ParseSize.
type Size int64

// units are ordered so that String meets the largest first.
var units = []struct {
	name  string
	bytes Size
}{
	{"GiB", 1 << 30},
	{"GB", 1e9},
	{"MiB", 1 << 20},
	{"MB", 1e6},
	{"KiB", 1 << 10},
	{"KB", 1e3},
	{"kB", 1e3},
	{"B", 1},
}

// ParseSize reads a whole number and its unit, such as 512KiB, 64KB or 10B.
// KiB, MiB and GiB count in 1024s, KB, MB and GB in 1000s. The unit is required
// and its case matters.
func ParseSize(s string) (Size, error) {
	for _, u := range units {
		digits, found := strings.CutSuffix(s, u.name)
		if !found {
			continue
		}
		digits = strings.TrimRight(digits, " ")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return 0, errors.New("not a whole number before the unit")
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/int64(u.bytes) {
			return 0, errors.New("too large")
		}
		return Size(n) * u.bytes, nil
	}
	if s != "" && strings.Trim(s, "0123456789.") == "" {
		return 0, errors.New("a number without a unit")
	}
	return 0, errors.New("not a size")
}

// String prints the size in the largest unit that divides it, so that ParseSize
// reads the same size back.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s/u.bytes), u.name)
		}
	}
	return "0B"
}
