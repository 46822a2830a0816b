package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heed/internal/testtool"
)

func TestJavaOptions(t *testing.T) {
	java := testtool.Path(t, "java")
	store := filepath.Join(t.TempDir(), `a "folder" with spaces`, "trust.p12")
	once := javaOptions("127.0.0.1:8080", store, "-Dx=y")
	if twice := javaOptions("127.0.0.1:8080", store, once); twice != once {
		t.Errorf("appended to itself: %q", twice)
	}
	for _, options := range []string{once, javaOptions("[::1]:8080", "/tmp/it's.p12", "")} {
		cmd := exec.Command(java, "-version")
		cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS="+options)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("JAVA_TOOL_OPTIONS=%s: %v\n%s", options, err, out)
		}
	}
}

func TestOtherSpellingsOfVariablesAreDropped(t *testing.T) {
	got := withEnv([]string{"Http_Proxy=a", "NPM_CONFIG_NOPROXY=b", "PATH=c"}, []variable{{"http_proxy", "d"}, {"npm_config_noproxy", "e"}})
	if want := "PATH=c http_proxy=d npm_config_noproxy=e"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Setting the environment again from within it changes nothing.
func TestSettingsFilesDoNotGrow(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".wgetrc"), []byte("quiet = on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": home}
	var sizes []int64
	for range 2 {
		set, err := writeSettings(trustFiles{dir: dir, bundle: "/b.pem"}, "http://127.0.0.1:8080", func(name string) string { return vars[name] })
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range set {
			vars[v.name] = v.value
		}
		text, err := os.ReadFile(vars["WGETRC"])
		if err != nil || !strings.HasPrefix(string(text), "quiet = on\n") || !strings.Contains(string(text), "ca_certificate = /b.pem") {
			t.Errorf("%q %v", text, err)
		}
		sizes = append(sizes, int64(len(text)))
	}
	if sizes[0] != sizes[1] {
		t.Errorf("sizes %v", sizes)
	}
}

// The exports lead to the heed that runs, and to its CA, whoever's that is.
func TestEnvOfARunningHeed(t *testing.T) {
	curl := testtool.Path(t, "curl")
	origin := newSite(t, true, true, testRobots)
	p := startProcess(t, []*site{origin})
	home := filepath.Join(t.TempDir(), "it's a home")
	cmd := exec.Command("sh", "-ec", `eval "$("$0" env --listen "$1")"; eval "$("$0" env --listen "$1")"; exec "$2" -s "$3"`,
		os.Args[0], p.addr, curl, origin.URL+"/private/x")
	cmd.Env = []string{"HEED_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + home}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Disallow: /private/") {
		t.Errorf("%v: %s", err, out)
	}
}
