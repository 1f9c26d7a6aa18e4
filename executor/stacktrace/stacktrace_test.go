package stacktrace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/stacktrace"
)

// The files in testdata are what OpenJDK 17, Python 3.11, Node.js 20 and Go wrote to stderr.
func TestTracesOfRealPrograms(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"java": `Exception in thread "main" java.lang.IllegalStateException: shard 3 failed:
  see above
	Suppressed: java.lang.Exception: on close
Caused by: Deep$DaoException: cannot read orders
Caused by: java.net.ConnectException: Connection refused (10.0.0.7:3306)`,
		"java-overflow": `Exception in thread "main" java.lang.StackOverflowError
	at Deep.recurse(Deep.java:9)`,
		"java-unnamed": `Exception in thread "main" java.lang.IllegalArgumentException
	at N.main(N.java:1)
Caused by: java.lang.AssertionError`,
		"python-group": `ConnectionError: refused 10.0.0.7:3306

The above exception was the direct cause of the following exception:

RuntimeError: cannot read
orders

During handling of the above exception, another exception occurred:

  | ExceptionGroup: shards (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | RuntimeError: cannot read
orders
    +------------------------------------`,
		"python-recursion": `RecursionError: maximum recursion depth exceeded`,
		"python-syntax": `  File "/sandbox/works/0/s.py", line 1
    print "x"
    ^^^^^^^^^
SyntaxError: Missing parentheses in call to 'print'. Did you mean print(...)?`,
		"python-assert": `  File "/sandbox/works/0/a.py", line 2, in main
    assert (1 ==
AssertionError`,
		"node": `/sandbox/works/0/job.js:2
async function go(){ try { await new Promise((r,j)=>net.connect(1,'127.0.0.1').on('error',j)); } catch(e){ throw new Error('cannot read orders',{cause:e}); } }
                                                                                                                 ^

Error: cannot read orders
  [cause]: Error: connect ECONNREFUSED 127.0.0.1:1
    errno: -111,
    code: 'ECONNREFUSED',
    syscall: 'connect',
    address: '127.0.0.1',
    port: 1
  }
}

Node.js v20.20.2`,
		"go": `panic: first 10.0.0.7:3306 [recovered]
	panic: second: first 10.0.0.7:3306`,
		"go-nil": `panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a0faa]`,
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, stacktrace.Shorten(string(text))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestOtherTraces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no trace at all (really)\nsecond": "no trace at all (really)\nsecond",
		"":                                 "",
		"\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)": "\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)",
		"java.io.IOException: x\n\tat app//a.B$C.<init>(B.java:1) ~[a.jar:1.0]\n\tat jdk.proxy1/$Proxy7.run(Unknown Source)\n\t... 3 common frames omitted\nCaused by: java.io.IOException: y": "java.io.IOException: x\nCaused by: java.io.IOException: y",
		`{"message":"failed","stack_trace":"a.B: x\n\tat a.B.c(B.java:1)\n\t... 3 more\nCaused by: a.C: y\n\tat a.C.d(C.java:2)\n"}`:                                                           `{"message":"failed","stack_trace":"a.B: x\nCaused by: a.C: y\n"}`,
		"Unhandled exception. System.Exception: x\n   at A.B.C(String s) in /src/A.cs:line 3\n   at A.Main()":                                                                                  "Unhandled exception. System.Exception: x",
		"a.rb:1:in `f': x (RuntimeError)\n\tfrom a.rb:3:in `<main>'":                                                                                                                           "a.rb:1:in `f': x (RuntimeError)",
		"PHP Fatal error:  Uncaught Exception: x in /a.php:3\nStack trace:\n#0 /a.php(5): f()\n#1 {main}\n  thrown in /a.php on line 3":                                                        "PHP Fatal error:  Uncaught Exception: x in /a.php:3\n  thrown in /a.php on line 3",
		"File \"a.py\", line 3, in f\n    x()\n  File \"a.py\", line 4, in x\n    y\nNameError: y":                                                                                             "NameError: y",
		"connect: refused\nmain.load\n\t/src/main.go:12\nruntime.goexit\n\t/go/src/runtime/asm_amd64.s:1700":                                                                                   "connect: refused",
	} {
		if diff := cmp.Diff(want, stacktrace.Shorten(text)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

func BenchmarkShorten(b *testing.B) {
	text := strings.Repeat("\tat com.example.jobs.orders.OrderRepository.find(OrderRepository.java:123)\n", 1000)
	for b.Loop() {
		stacktrace.Shorten(text)
	}
}
