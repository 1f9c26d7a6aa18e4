package certificate

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/test/certificates"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a Keeper with its own files, clock and log.
type bench struct {
	*Keeper
	dir string
	now time.Time
	log bytes.Buffer
}

func start(t *testing.T, p certificates.Pair) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir(), now: time.Now()}
	certFile, keyFile := p.Write(t, b.dir)
	k, err := Open(Files{Cert: certFile, Key: keyFile}, func() time.Time { return b.now })
	if err != nil {
		t.Fatal(err)
	}
	b.Keeper = k
	return b
}

// served returns the certificate that the keeper's server shows to a client, in DER form.
func (b *bench) served(t *testing.T) []byte {
	t.Helper()
	found, err := b.Server().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return found.Certificate[0]
}

func (b *bench) logger() *slog.Logger { return slog.New(slog.NewTextHandler(&b.log, nil)) }

func (b *bench) reload() { b.Keeper.reload(b.logger()) }

func (b *bench) errors() int { return strings.Count(b.log.String(), "level=ERROR") }

func TestARenewedPairIsTaken(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	for name, renew := range map[string]func(b *bench, next certificates.Pair){
		"one file after the other": func(b *bench, next certificates.Pair) {
			if err := os.WriteFile(b.files.Cert, next.Cert, 0o600); err != nil {
				t.Error(err)
			}
			b.reload() // they do not match now
			if err := os.WriteFile(b.files.Key, next.Key, 0o600); err != nil {
				t.Error(err)
			}
		},
		"renamed into place, with the same times and sizes": func(b *bench, next certificates.Pair) {
			info, err := os.Stat(b.files.Cert)
			if err != nil {
				t.Error(err)
			}
			certFile, keyFile := next.Write(t, t.TempDir())
			for from, to := range map[string]string{certFile: b.files.Cert, keyFile: b.files.Key} {
				if err := os.Chtimes(from, info.ModTime(), info.ModTime()); err != nil {
					t.Error(err)
				}
				if err := os.Rename(from, to); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, ca.Good())
			before := b.served(t)
			renew(b, certificates.New(t).Good())
			b.reload()
			if bytes.Equal(before, b.served(t)) || b.Warning() != "" || b.errors() > 0 {
				t.Errorf("warning %q, log %s", b.Warning(), &b.log)
			}
		})
	}
}

// TestLinksThatAreSetToAnotherFolder: the files are links through ..data, which is a link itself, as in the volume of
// a Kubernetes secret.
func TestLinksThatAreSetToAnotherFolder(t *testing.T) {
	t.Parallel()
	ca, dir := certificates.New(t), t.TempDir()
	write := func(version string) {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		ca.Good().Write(t, filepath.Join(dir, version))
		if err := os.Symlink(version, filepath.Join(dir, "..new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	write("v1")
	for _, name := range []string{"cert.pem", "key.pem"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	k, err := Open(Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	before := k.current.Load()
	k.reload(slog.New(slog.DiscardHandler))
	if k.current.Load() != before {
		t.Error("unchanged files were loaded again")
	}
	write("v2")
	k.reload(slog.New(slog.DiscardHandler))
	if k.current.Load() == before {
		t.Error("the old pair is in force")
	}
}

// TestInvalidFilesLeaveTheOldPairInForce: invalid files leave the old certificate in force. The fault is logged once,
// and it ends when the files are fixed.
func TestInvalidFilesLeaveTheOldPairInForce(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	now := time.Now()
	write := func(t *testing.T, path string, text []byte, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Error(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Error(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, b *bench)
		says  string
	}{
		"a key of another certificate": {func(t *testing.T, b *bench) { write(t, b.files.Key, ca.Good().Key, 0o600) }, "are not a certificate and its key"},
		"expired":                      {func(t *testing.T, b *bench) { ca.Issue(now.Add(-2*time.Hour), now.Add(-time.Hour)).Write(t, b.dir) }, "expired at"},
		"of the future":                {func(t *testing.T, b *bench) { ca.Issue(now.Add(time.Hour), now.Add(2*time.Hour)).Write(t, b.dir) }, "is not valid before"},
		"gone":                         {func(t *testing.T, b *bench) { _ = os.Remove(b.files.Cert) }, "no such file"},
		"empty":                        {func(t *testing.T, b *bench) { write(t, b.files.Cert, nil, 0o600) }, "are not a certificate and its key"},
		"cut off": {func(t *testing.T, b *bench) {
			p := ca.Good()
			p.Cert = append(p.Cert, ca.PEM[:len(ca.PEM)/2]...)
			p.Write(t, b.dir)
		}, "cut off"},
		"a key that others can read": {func(t *testing.T, b *bench) { write(t, b.files.Key, ca.Good().Key, 0o640) }, "chmod 600"},
		"a folder":                   {func(t *testing.T, b *bench) { _ = os.Remove(b.files.Cert); _ = os.Mkdir(b.files.Cert, 0o700) }, "is not a regular file"},
		"too large":                  {func(t *testing.T, b *bench) { write(t, b.files.Cert, make([]byte, 2<<20), 0o600) }, "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := ca.Good()
			b := start(t, first)
			before := b.served(t)
			c.spoil(t, b)
			b.reload()
			if b.Warning() != "" || b.errors() > 0 {
				t.Errorf("at once: %q, %s", b.Warning(), &b.log)
			}
			for range 3 {
				b.reload()
			}
			if w := b.Warning(); !strings.Contains(w, c.says) || !strings.Contains(w, "stays in force") ||
				b.errors() != 1 || !bytes.Equal(before, b.served(t)) {
				t.Errorf("warning %q, want %q; log %s", w, c.says, &b.log)
			}
			if strings.Contains(b.log.String()+b.Warning(), "PRIVATE KEY") {
				t.Error("it shows the key")
			}
			_ = os.Remove(b.files.Cert)
			first.Write(t, b.dir)
			_ = os.Chmod(b.files.Key, 0o600)
			b.reload()
			if b.Warning() != "" {
				t.Errorf("mended: %q", b.Warning())
			}
		})
	}
}

func TestWarningsOfTime(t *testing.T) {
	t.Parallel()
	ca, now := certificates.New(t), time.Now()
	for name, c := range map[string]struct {
		from, until time.Time
		says        string
	}{
		"good":                     {now.Add(-time.Hour), now.Add(24 * time.Hour), ""},
		"short, in its last tenth": {now.Add(-95 * time.Minute), now.Add(5 * time.Minute), "renew it"},
		"long, with three weeks":   {now.Add(-time.Hour), now.Add(3 * 7 * 24 * time.Hour), ""},
		"long, with one week":      {now.Add(-5 * 365 * 24 * time.Hour), now.Add(7 * 24 * time.Hour), "renew it"},
		"over":                     {now.Add(-2 * time.Hour), now.Add(-time.Hour), "expired at"},
		"not begun":                {now.Add(time.Hour), now.Add(48 * time.Hour), "is not valid before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, ca.Issue(c.from, c.until))
			if w := b.Warning(); !strings.Contains(w, c.says) || (w == "") != (c.says == "") {
				t.Errorf("%q, want %q", w, c.says)
			}
			if got := b.NotAfter(); !got.Equal(c.until.Truncate(time.Second)) {
				t.Errorf("expires %v, want %v", got, c.until)
			}
		})
	}
}

func TestNamesOfTheCertificate(t *testing.T) {
	t.Parallel()
	b := start(t, certificates.New(t).Good())
	for host, good := range map[string]bool{"127.0.0.1": true, "localhost": true, "10.0.0.5": false,
		"other.example": false} {
		if err := b.VerifyHost(host); (err == nil) != good {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestHandshakes: TLS 1.2 or later, HTTP/2 if the client supports it, and which certificates are trusted.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	b := start(t, ca.Good())
	withCA := func(file string) *tls.Config {
		files := b.files
		files.CA = file
		k, err := Open(files, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return k.Client("127.0.0.1")
	}
	for name, c := range map[string]struct {
		client   *tls.Config
		protocol string
		fails    string
	}{
		"HTTP/2":           {&tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1", NextProtos: []string{"h2", "http/1.1"}}, "h2", ""},
		"TLS 1.2":          {&tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", MaxVersion: tls.VersionTLS12}, "", ""},
		"downgraded":       {&tls.Config{RootCAs: ca.Pool(), ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "", "protocol version"},
		"own chain":        {b.Client("127.0.0.1"), "", ""},
		"the authority":    {withCA(ca.File), "", ""},
		"another name":     {b.Client("other.example"), "", "other.example"},
		"another CA's own": {withCA(certificates.New(t).File), "", "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := tls.Listen("tcp", "127.0.0.1:0", b.Server())
			if err != nil {
				t.Fatal(err)
			}
			var served sync.WaitGroup
			served.Go(func() {
				if there, err := l.Accept(); err == nil {
					_, _ = io.Copy(io.Discard, there) // the client reports the result
					_ = there.Close()
				}
			})
			plain, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			client := tls.Client(plain, c.client)
			err = client.Handshake()
			_ = plain.Close()
			_ = l.Close()
			served.Wait()
			if c.fails == "" && err != nil ||
				c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("%v, want %q", err, c.fails)
			}
			if got := client.ConnectionState().NegotiatedProtocol; got != c.protocol {
				t.Errorf("protocol %q", got)
			}
		})
	}
}

func TestRunLooksEachSecond(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	b := start(t, ca.Good())
	synctest.Test(t, func(t *testing.T) {
		go b.Run(t.Context(), b.logger())
		before := b.NotAfter()
		ca.Issue(time.Now().Add(-time.Hour).Add(-1), b.now.Add(20*time.Hour)).Write(t, b.dir)
		time.Sleep(checkInterval)
		synctest.Wait()
		if b.NotAfter().Equal(before) {
			t.Error("the old pair is in force")
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	for name, c := range map[string]struct {
		change func(f *Files)
		says   string
	}{
		"no certificate":        {func(f *Files) { f.Cert += ".none" }, "no such file"},
		"no key":                {func(f *Files) { f.Key += ".none" }, "no such file"},
		"the key twice":         {func(f *Files) { f.Cert = f.Key }, "are not a certificate and its key"},
		"a CA that is a key":    {func(f *Files) { f.CA = f.Key }, "holds no certificate"},
		"no CA":                 {func(f *Files) { f.CA = f.Key + ".none" }, "no such file"},
		"a key others can read": {func(f *Files) { _ = os.Chmod(f.Key, 0o644) }, "chmod 600"},
		"all at once":           {func(f *Files) { f.Cert += ".none"; _ = os.Chmod(f.Key, 0o644) }, "chmod 600"},
		"a device as the key":   {func(f *Files) { f.Key = "/dev/zero" }, "is not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f Files
			f.Cert, f.Key = ca.Good().Write(t, t.TempDir())
			c.change(&f)
			if _, err := Open(f, time.Now); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
