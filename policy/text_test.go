package policy_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"heed/policy"
)

func TestByteOrderMark(t *testing.T) {
	const robots = "User-agent: bot\nDisallow: /ツ𝄞\n"
	const path = "/%E3%83%84%F0%9D%84%9E"
	encode := func(order binary.AppendByteOrder, robots string) string {
		out := order.AppendUint16(nil, 0xfeff)
		for _, unit := range utf16.Encode([]rune(robots)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	checkAll(t, []reading{
		{"\ufeff" + robots, "bot", path, 2},
		{"\ufeff\ufeff" + robots, "bot", path, 0},
		{encode(binary.LittleEndian, robots), "bot", path, 2},
		{encode(binary.BigEndian, robots), "bot", path, 2},
		{encode(binary.BigEndian, robots) + "x", "bot", path, 2},
		{encode(binary.BigEndian, robots) + "\xd8\x00", "bot", path, 2}, // half a pair
		{encode(binary.LittleEndian, strings.TrimSuffix(robots, "\n")), "bot", path, 2},
		{"\ufeff", "bot", "/", 0}, {"\xff\xfe", "bot", "/", 0}, {"\xfe\xff\x00", "bot", "/", 0},
	})
}

func TestLineEnds(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		robots := strings.Join([]string{"User-agent: bot", "", "", "Disallow: /a", "Disallow: /b"}, end)
		checkAll(t, []reading{{robots, "bot", "/a", 4}, {robots, "bot", "/b", 5}, {robots + end, "bot", "/b", 5}})
	}
	reading{"User-agent: bot\n\rDisallow: /a\r\r\nDisallow: /b", "bot", "/b", 5}.check(t)
}

func TestBytesInLine(t *testing.T) {
	long := "/" + strings.Repeat("a", 100_000)
	checkAll(t, []reading{
		{star("Disallow: /\xff", "Disallow: /c"), "bot", "/%FF", 2},
		{star("Disallow: /\xff", "Disallow: /c"), "bot", "/c", 3},
		{star("Disallow: /a\x00b", "Disallow: /c"), "bot", "/a%00b", 2},
		{star("Disallow: /a\x00b", "Disallow: /c"), "bot", "/a", 0},
		{star("Disallow: "+long, "Disallow: /c"), "bot", long + "b", 2},
		{star("Disallow: "+long, "Disallow: /c"), "bot", "/c", 3},
	})
	d := policy.Parse([]byte(star("Disallow: /\xff"))).Decide(nil, policy.Target{Path: "/\xff"})
	if d.Rule != "Disallow: /\xff" {
		t.Errorf("rule %q, want the line's own octets", d.Rule)
	}
}
