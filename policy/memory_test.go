package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"heed/policy"
)

// heapOf returns what one more of what make returns takes of the heap.
func heapOf[T any](n int, make func() T) float64 {
	kept := []T{make()}
	before := heap()
	for range n {
		kept = append(kept, make())
	}
	after := heap()
	runtime.KeepAlive(kept)
	return float64(int64(after)-int64(before)) / float64(n)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// memoryShapes are files that are nothing but one kind of line, made by number:
// those that a parser may need much for.
var memoryShapes = map[string]func(i int) string{
	"one letter":        func(i int) string { return fmt.Sprintf("Allow:/%c\n", 'a'+i%26) },
	"two letters":       func(i int) string { return "Allow:/" + letterPair(i) + "\n" },
	"short":             func(i int) string { return fmt.Sprintf("Allow:/%x\n", i) },
	"short, CRLF":       func(i int) string { return fmt.Sprintf("Disallow:/%x\r\n", i) },
	"short, CR":         func(i int) string { return fmt.Sprintf("Disallow:/%x\r", i) },
	"ordinary":          func(i int) string { return fmt.Sprintf("Disallow: /directory/page%d/\n", i*7919%100_003) },
	"anchored":          func(i int) string { return fmt.Sprintf("Allow:/%x$\n", i) },
	"stars at the end":  func(i int) string { return fmt.Sprintf("Allow:/%x*\n", i) },
	"stars first":       func(i int) string { return fmt.Sprintf("Allow:*%x\n", i) },
	"stars within":      func(i int) string { return fmt.Sprintf("Allow:/%x*a\n", i) },
	"stars and two":     func(i int) string { return "Allow:/*" + letterPair(i) + "\n" },
	"nothing but stars": func(i int) string { return "Allow:" + strings.Repeat("*", 1+i%100) + "\n" },
	"wildcards":         func(i int) string { return fmt.Sprintf("Disallow: /*/page%d/*.html$\n", i) },
	"UTF-8": func(i int) string {
		return "Allow:/" + string(rune(0x3041+i%80)) + string(rune(0x4e00+i%20_000)) + "\n"
	},
	"UTF-8, long":         func(i int) string { return "Disallow: /" + strings.Repeat("ツ", 50) + fmt.Sprint(i) + "\n" },
	"UTF-8, stars":        func(i int) string { return "Allow:/*" + string(rune(0x4e00+i%20_000)) + "é\n" },
	"UTF-8, very long":    func(i int) string { return "Disallow: /" + fmt.Sprint(i) + strings.Repeat("é", 10_000) + "\n" },
	"Latin-1":             func(i int) string { return fmt.Sprintf("Allow:/%x\xe9\xe8\n", i) },
	"illegal octets":      func(i int) string { return fmt.Sprintf("Allow:/%x\"<|^\n", i) },
	"illegal, long":       func(i int) string { return fmt.Sprintf("Disallow: /%d%s\n", i, strings.Repeat("\"", 200)) },
	"percent signs":       func(i int) string { return fmt.Sprintf("Disallow: /%x%s\n", i, strings.Repeat("%", 100)) },
	"dollars":             func(i int) string { return fmt.Sprintf("Allow:/%x$$$\n", i) },
	"blanks":              func(i int) string { return fmt.Sprintf("Allow: /%x a b c\n", i) },
	"escapes":             func(i int) string { return fmt.Sprintf("Disallow: /%%E3%%83%%84/%d\n", i) },
	"escapes, lower case": func(i int) string { return fmt.Sprintf("Allow:/%x%%2f\n", i) },
	"escapes of letters":  func(i int) string { return fmt.Sprintf("Allow:/%x%%41%%42\n", i) },
	"escaped, long":       func(i int) string { return fmt.Sprintf("Allow:/%x%s\n", i, strings.Repeat("%2f", 100)) },
	"escaped, with stars": func(i int) string { return fmt.Sprintf("Allow:/*%x%%2f*%%3a\n", i) },
	"escaped stars":       func(i int) string { return fmt.Sprintf("Allow:/%x%%2a*b\n", i) },
	"upper case":          func(i int) string { return fmt.Sprintf("Allow:/A%X\n", i) },
	"growing lower case":  func(i int) string { return fmt.Sprintf("Allow:/%xȺȺȺ\n", i) },
	"index pages":         func(i int) string { return fmt.Sprintf("Allow:/%x/index.htm\n", i) },
	"many groups":         func(i int) string { return fmt.Sprintf("User-agent:%x\nAllow:/\n", i) },
	"many groups of one":  func(i int) string { return fmt.Sprintf("useragent:*\nAllow:/%x\n", i) },
	"empty groups":        func(int) string { return "useragent:\nAllow:\n" },
	"agents":              func(i int) string { return fmt.Sprintf("User-agent:%x\n", i) },
	"agents of all rules": func(i int) string { return fmt.Sprintf("User-agent:%x\nUser-agent:*\nAllow:/%x\n", i, i) },
	"empty rules":         func(int) string { return "Disallow:\n" },
	"sitemaps":            func(i int) string { return fmt.Sprintf("Sitemap: https://h.example/%d.xml\n", i) },
	"unknown keys":        func(i int) string { return fmt.Sprintf("k%d: v\n", i) },
	"extensions": func(i int) string {
		return fmt.Sprintf("Crawl-delay: %d\nContent-Signal: search=yes\nLicense: /%d\n", i%9, i)
	},
	"comments":             func(int) string { return "#\n" },
	"line ends":            func(int) string { return "\n" },
	"CRLF":                 func(int) string { return "\r\n" },
	"prefixes of the next": func(i int) string { return "Allow:/" + strings.Repeat("a", i%200) + "\n" },
	"HTML":                 func(i int) string { return fmt.Sprintf("<p>%d</p>\n", i) },
}

func letterPair(i int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!&'()+,;=@:"
	i %= len(letters) * len(letters)
	return string(letters[i/len(letters)]) + string(letters[i%len(letters)])
}

// shaped is a file of n lines of a shape at the least.
func shaped(shape func(i int) string, octets int) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; b.Len() < octets; i++ {
		b.WriteString(shape(i))
	}
	return []byte(b.String())
}

// asked returns how to make a parsed file that has been asked once under a
// profile, so that its rules are ready.
func asked(body []byte, p policy.Profile) func() *policy.Robots {
	return func() *policy.Robots {
		robots := policy.Parse(body)
		robots.DecideUnder(p, []string{"bot"}, policy.Target{Path: "/x"})
		return robots
	}
}

// checkMemory holds a file to two and a half times its text and 512 octets.
func checkMemory(t *testing.T, name string, body []byte, p policy.Profile) {
	t.Helper()
	n := max(3, min(100, 1<<18/(len(body)+1)))
	most := 2.5*float64(len(body)) + 512
	if p == policy.Google {
		most += 80 // beside the reading that every file has, it needs its own
	}
	if got := heapOf(n, asked(body, p)); got > most {
		t.Errorf("%s, %s: %d octets of text take %.0f (%.2f for one), want at most %.0f", name, p, len(body), got, got/float64(len(body)), most)
	}
}

// A parsed file takes at most two and a half times its text and 512 octets.
func TestMemory(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("corpus: %v, %d files", err, len(files))
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkMemory(t, file, body, policy.RFC9309)
	}
	for name, body := range costFiles {
		checkMemory(t, name, body, policy.RFC9309)
	}
}

// So does one that was made to take more.
func TestMemoryOfAnyShape(t *testing.T) {
	sizes, profiles := []int{20, 1000, 33_000}, []policy.Profile{policy.RFC9309}
	if os.Getenv("TEST_FULL") != "" {
		sizes = append(sizes, 10, 50, 100, 200, 500, 2000, 5000, 9000, 17_000, 70_000, 500_000)
		profiles = policy.Profiles()[:4] // Strictest has what the others have
	}
	for name, shape := range memoryShapes {
		for _, size := range sizes {
			for _, p := range profiles {
				checkMemory(t, name, shaped(shape, size), p)
			}
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	for name, shape := range memoryShapes {
		for _, p := range policy.Profiles() {
			b.Run(name+"/"+string(p), func(b *testing.B) {
				parse := asked(shaped(shape, 100_000), p)
				for b.Loop() {
					parse()
				}
				b.ReportMetric(heapOf(5, parse)/100_000, "octets/octet")
			})
		}
	}
}
