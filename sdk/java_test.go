package sdk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var java = language{"java", func(t testing.TB) []string {
	dependsOn(t, "java")
	dependsOn(t, "testdata/java")
	classpath, err := compileOnce()
	if err != nil {
		t.Fatal(err)
	}
	return []string{programPath(t, "java"), "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", classpath, "TestJob"}
}, ": terminated by SIGINT\n"}

// classes is the folder with the compiled SDK and program, which TestMain removes; "" until a test needs them.
var classes string

// compileOnce compiles the SDK for Java and the program of the tests, once for all tests.
var compileOnce = sync.OnceValues(func() (classpath string, err error) {
	if classes, err = os.MkdirTemp("", "sdk-test-java"); err != nil {
		return "", err
	}
	jar := filepath.Join(classes, "sdk.jar")
	return classes + ":" + jar, errors.Join(
		command("java/build.sh", jar),
		command("javac", "--release", "8", "-Xlint:-options", "-encoding", "UTF-8", "-cp", jar, "-d", classes,
			"testdata/java/TestJob.java"))
})

// command runs a program, and returns its output in the error.
func command(name string, args ...string) error {
	if output, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, output)
	}
	return nil
}

// TestJava checks what is special about the SDK for Java.
func TestJava(t *testing.T) {
	t.Parallel()
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		p := java.resident(t)
		for parameter, want := range map[string]string{
			"cause": `java.lang.IllegalStateException: no connection \(TestJob.java:\d+\)` +
				`\nCaused by: java.net.ConnectException: refused \(TestJob.java:\d+\)$`,
			"place":  `java.lang.NullPointerException \(TestJob.java:`,
			"parse":  `java.lang.NumberFormatException: For input string: "x" \(TestJob.java:`,
			"memory": "java.lang.OutOfMemoryError: Java heap space",
		} {
			p.run(parameter, parameter)
			if failure, _ := p.done(parameter); !regexp.MustCompile("^" + want).MatchString(failure) {
				t.Errorf("%s: %q, want %q", parameter, failure, want)
			}
		}
		p.expectAlive()
	})
	t.Run("no parameter of the shard is null", func(t *testing.T) {
		t.Parallel()
		p := java.resident(t)
		for own, want := range map[string]string{"north": "own parameter north", "": "own parameter null"} {
			line := strings.Replace(runLine("run"+own, "own"), `"shardingParameter":"own"`,
				`"shardingParameter":"`+own+`"`, 1)
			p.send(line)
			if failure, _ := p.done("run" + own); !strings.Contains(failure, want) {
				t.Errorf("%q: %q, want %q", own, failure, want)
			}
		}
		p.expectAlive()
	})
	t.Run("dataflow", func(t *testing.T) {
		t.Parallel()
		for name, tc := range map[string]struct {
			batches, streaming, want string
			status                   int
		}{
			"once":          {"1,2 3", "false", "[1, 2]", 0},
			"nothing to do": {"none 3", "false", "", 0},
			"streaming":     {"1,2 3 none 4", "true", "[1, 2][3]", 0},
			"no list":       {"1 null 4", "TRUE", "[1]", 0},
			"a failure":     {"1 fail 3", "true", "[1][fail]", 1},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := java.program(t, nil, "ELASTICJOB_SHARDING_CONTEXT="+fmt.Sprintf(sharding, tc.batches),
					`ELASTICJOB_PROPS={"streaming.process":"`+tc.streaming+`"}`, jobVariable+"_FLOW=1").start()
				p.expectExit(tc.status)
				if p.out.String() != tc.want || tc.status != 0 && !strings.Contains(p.errors.String(), "broken") {
					t.Errorf("it wrote %q and %q, want %q", p.out, p.errors, tc.want)
				}
			})
		}
	})
	t.Run("the same jar from the same sources", func(t *testing.T) {
		t.Parallel()
		var jars [2][]byte
		for i := range jars {
			path := filepath.Join(t.TempDir(), "sdk.jar")
			if err := command("java/build.sh", path); err != nil {
				t.Fatal(err)
			}
			var err error
			if jars[i], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(jars[0], jars[1]) {
			t.Errorf("two builds have %d and %d bytes, and differ", len(jars[0]), len(jars[1]))
		}
	})
}
