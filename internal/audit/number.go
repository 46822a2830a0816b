package audit

import (
	"strconv"
	"time"
)

// timeFormat is RFC 3339 with all nine digits, so that the times of UTC sort as
// text.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// appendRFC3339 is t.AppendFormat(dst, timeFormat) for a t in UTC, which every
// record needs at least once.
func appendRFC3339(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(dst, timeFormat)
	}
	hour, minute, second := t.Clock()
	dst = append(appendDigits(dst, year, 4), '-')
	dst = append(appendDigits(dst, int(month), 2), '-')
	dst = append(appendDigits(dst, day, 2), 'T')
	dst = append(appendDigits(dst, hour, 2), ':')
	dst = append(appendDigits(dst, minute, 2), ':')
	dst = append(appendDigits(dst, second, 2), '.')
	return append(appendDigits(dst, t.Nanosecond(), 9), 'Z')
}

// appendDigits appends n, which is not negative, in a number of digits.
func appendDigits(dst []byte, n, digits int) []byte {
	dst = append(dst, "000000000"[:digits]...)
	for i := len(dst) - 1; n > 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// appendMillis always writes a decimal point, so that a reader which guesses
// the type of a field from its first value guesses right.
func appendMillis(dst []byte, key string, d time.Duration) []byte {
	dst = appendKey(dst, key)
	if d < 0 {
		dst = append(dst, '-')
	}
	micros := d.Abs().Round(time.Microsecond) / time.Microsecond
	dst = strconv.AppendInt(dst, int64(micros/1000), 10)
	return appendDigits(append(dst, '.'), int(micros%1000), 3)
}
