package stacktrace_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/stacktrace"
)

// The files in testdata are what OpenJDK 17, Python 3.11, Node.js 20 and Go wrote to stderr.
func TestTracesOfRealPrograms(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"java": `Exception in thread "main" java.lang.IllegalStateException: shard 3 failed:
  see above (Deep.java:7)
	Suppressed: java.lang.Exception: on close
Caused by: Deep$DaoException: cannot read orders (Deep.java:4)
Caused by: java.net.ConnectException: Connection refused (10.0.0.7:3306)`,
		"java-overflow": `Exception in thread "main" java.lang.StackOverflowError (Deep.java:9)`,
		"java-unnamed": `Exception in thread "main" java.lang.IllegalArgumentException (N.java:1)
Caused by: java.lang.AssertionError`,
		"python-group": `ConnectionError: refused 10.0.0.7:3306 (job.py:4)

The above exception was the direct cause of the following exception:

RuntimeError: cannot read (job.py:9)
orders

During handling of the above exception, another exception occurred:

  | ExceptionGroup: shards (2 sub-exceptions) (job.py:13)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | RuntimeError: cannot read (job.py:9)
orders
    +------------------------------------`,
		"python-recursion": `RecursionError: maximum recursion depth exceeded (r.py:1)`,
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

Error: cannot read orders (job.js:2)
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
		"java.io.IOException: x\n\tat app//a.B$C.<init>(B.java:1) ~[a.jar:1.0]\n\tat jdk.proxy1/$Proxy7.run(Unknown Source)\n\t... 3 common frames omitted\nCaused by: java.io.IOException: y": "java.io.IOException: x (B.java:1)\nCaused by: java.io.IOException: y",
		`{"message":"failed","stack_trace":"a.B: x\n\tat a.B.c(B.java:1)\n\t... 3 more\nCaused by: a.C: y\n\tat a.C.d(C.java:2)\n"}`:                                                           `{"message":"failed","stack_trace":"a.B: x (B.java:1)\nCaused by: a.C: y (C.java:2)\n"}`,
		"Unhandled exception. System.Exception: x\n   at A.B.C(String s) in /src/A.cs:line 3\n   at A.Main()":                                                                                  "Unhandled exception. System.Exception: x (A.cs:3)",
		"a.rb:1:in `f': x (RuntimeError)\n\tfrom a.rb:3:in `<main>'":                                                                                                                           "a.rb:1:in `f': x (RuntimeError)",
		"PHP Fatal error:  Uncaught Exception: x in /a.php:3\nStack trace:\n#0 /a.php(5): f()\n#1 {main}\n  thrown in /a.php on line 3":                                                        "PHP Fatal error:  Uncaught Exception: x in /a.php:3\n  thrown in /a.php on line 3",
		"File \"a.py\", line 3, in f\n    x()\n  File \"a.py\", line 4, in x\n    y\nNameError: y":                                                                                             "NameError: y (a.py:4)",
		"connect: refused\nmain.load\n\t/src/main.go:12\nruntime.goexit\n\t/go/src/runtime/asm_amd64.s:1700":                                                                                   "connect: refused",
	} {
		if diff := cmp.Diff(want, stacktrace.Shorten(text)); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

// TestALongMessageLosesItsMiddle: its class, its beginning, and its place stay, because a text is cut at its beginning.
func TestALongMessageLosesItsMiddle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("北x", 4<<10)
	for text, want := range map[string]string{
		"java.lang.IllegalStateException: rows " + long + "\n\tat Share.execute(Share.java:17)": `^java\.lang\.IllegalStateException: rows 北x[北x]* … [北x]+ \(Share\.java:17\)$`,
		"Caused by: a.BError: rows " + long + "end":                                             `^Caused by: a\.BError: rows 北x[北x]* … [北x]+end$`,
		"panic: rows " + long + "end":                                                           `^panic: rows 北x[北x]* … [北x]+end$`,
		long + "end":                                                                            `^[北x]+end$`,
	} {
		got := stacktrace.Shorten(text)
		if !regexp.MustCompile(want).MatchString(got) || strings.Contains(got, "…") && len(got) > 800 ||
			!utf8.ValidString(got) {
			t.Errorf("%d bytes, which begin with %.100q: want %s", len(got), got, want)
		}
	}
}

// The place of an exception is that of the first frame which belongs neither to the language nor to the SDK.
func TestPlacesInOwnCode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"Java's library first": {`java.lang.NumberFormatException: For input string: "x"
	at java.base/java.lang.Integer.parseInt(Integer.java:652)
	at app//com.example.Share.execute(Share.java:17) ~[share.jar:1.0]
	at com.example.Share.main(Share.java:9)
done`, `java.lang.NumberFormatException: For input string: "x" (Share.java:17)
done`},
		"without a message": {`java.lang.NullPointerException
	at java.base/java.util.Objects.requireNonNull(Objects.java:208)
	at Share.execute(Share.java:17)
	at io.github.elasticjob.Run.execute(Run.java:26)`, `java.lang.NullPointerException (Share.java:17)`},
		"the library only": {`Exception in thread "pool" java.lang.InterruptedException
	at java.base/java.lang.Object.wait(Native Method)
	at java.base/java.lang.Object.wait(Object.java:338)`, `Exception in thread "pool" java.lang.InterruptedException
	at java.base/java.lang.Object.wait(Native Method)`},
		"the SDK only": {`java.util.concurrent.CancellationException: terminated by SIGTERM
	at io.github.elasticjob.ShardingContext.throwIfCancelled(ShardingContext.java:130)`,
			`java.util.concurrent.CancellationException: terminated by SIGTERM`},
		"a package below the SDK's name": {`a.B: x
	at io.github.elasticjob.examples.Orders.run(Orders.java:3)`, `a.B: x (Orders.java:3)`},
		"Kotlin": {`kotlin.KotlinNullPointerException: x
	at kotlin.collections.CollectionsKt.first(Collections.kt:190)
	at JobKt$main$1.invoke(Job.kt:5)`, `kotlin.KotlinNullPointerException: x (Job.kt:5)`},
		"frames alone": {"	at a.B.c(B.java:1)\nx", "x"},
		"Python's library last": {`Traceback (most recent call last):
  File "/sandbox/works/0/lib/load.py", line 7, in job
    rows = json.loads(text)
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s, idx=_w(s, 0).end())
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)`,
			`json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0) (load.py:7)`},
		"Python without a message": {`Traceback (most recent call last):
  File "job.py", line 3, in job
    queue.get_nowait()
  File "/venv/lib/python3.11/site-packages/q.py", line 5, in get_nowait
    raise Empty
q.EmptyError`, `  File "job.py", line 3, in job
    queue.get_nowait()
q.EmptyError`},
		"Python's library only": {`Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/work/elasticjob.py", line 90, in run
    raise ValueError("x")
ValueError: x`, `ValueError: x`},
		"two tracebacks, of which the first has no end": {`Traceback (most recent call last):
  File "a.py", line 3, in a
    b()
Traceback (most recent call last):
  File "/usr/lib/python3.11/b.py", line 5, in b
    c()
ValueError: x`, `ValueError: x`},
		"Node.js's library first": {`Error: ENOENT: no such file
    at Object.openSync (node:fs:601:3)
    at /app/node_modules/csv/index.js:1:2
    at load (file:///app/job.mjs:12:5)`, `Error: ENOENT: no such file (job.mjs:12)`},
	} {
		if diff := cmp.Diff(test.want, stacktrace.Shorten(test.text)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func BenchmarkShorten(b *testing.B) {
	text := strings.Repeat("\tat com.example.jobs.orders.OrderRepository.find(OrderRepository.java:123)\n", 1000)
	for b.Loop() {
		stacktrace.Shorten(text)
	}
}
