package pipe_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/executor/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open creates a pipe and starts to read it; messages returns the messages, once the pipe has ended.
func open(t *testing.T) (p *pipe.Pipe, theirs []*os.File, messages func() []pipe.Message) {
	t.Helper()
	p, theirs, err := pipe.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []pipe.Message
	read := make(chan struct{})
	go func() {
		p.Read(pipe.Handlers{Message: func(m pipe.Message) { got = append(got, m) },
			Ignored: func(what string) { got = append(got, ignored(what)) }, Closed: func() {}})
		close(read)
	}()
	t.Cleanup(func() {
		p.Close()
		<-read
		for _, f := range theirs {
			_ = f.Close()
		}
	})
	return p, theirs, func() []pipe.Message {
		<-read
		return got
	}
}

// ignored returns the message that open records when Read calls Ignored with this description.
func ignored(what string) pipe.Message { return pipe.Message{Type: "ignored", Error: what} }

const (
	noMessage  = " is no message, which is a JSON object on one line"
	noType     = " has no known type (hello, progress or done)"
	unfinished = "a line without a line feed at its end"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 5000)
	for name, test := range map[string]struct {
		wrote string
		want  []pipe.Message
	}{
		"hello": {`{"type":"hello","version":1,"sdk":"x 1","later":{}}` + "\n", []pipe.Message{{Type: "hello", Version: 1, SDK: "x 1"}}},
		"several": {`{"type":"progress","fraction":0.5,"message":"half"}` + "\n" + `{"type":"done","run":"7"}` + "\n",
			[]pipe.Message{{Type: "progress", Fraction: 0.5, Message: "half"}, {Type: "done", Run: "7"}}},
		"fractions have bounds": {`{"type":"progress","fraction":7}` + "\n" + `{"type":"progress","fraction":-1e300}` +
			"\n",
			[]pipe.Message{{Type: "progress", Fraction: 1}, {Type: "progress"}}},
		"texts are cut in whole characters": {`{"type":"progress","message":"a` + long + `"}` + "\n" +
			`{"type":"done","error":"` + long + `"}` + "\n",
			[]pipe.Message{{Type: "progress", Message: "a" + long[:198]}, {Type: "done", Error: long[:4096]}}},
		"what is no message": {"hi\n\n\x00\xff\n[]\n7\nnull\n{}\n" + `{"type":"other"}` + "\n" +
			`{"type":"done","run":7}` + "\n" + `{"type":"done"}` + "\n",
			[]pipe.Message{ignored("the line hi" + noMessage), ignored("the line \x00\xff" + noMessage),
				ignored("the line []" + noMessage),
				ignored("the line 7" + noMessage), ignored("the message null" + noType),
				ignored("the message {}" + noType), ignored(`the message {"type":"other"}` + noType),
				ignored(`the field run of the message {"type":"done","run":7} is of the wrong type: number`),
				{Type: "done"}}},
		"an error that is an object": {`{"type":"done","run":"1","error":{"code":1}}` + "\n",
			[]pipe.Message{ignored(`the field error of the message {"type":"done","run":"1","error":{"code":1}} is of the wrong type: object`)}},
		"indented": {"{\n  \"type\": \"done\",\n  \"run\": \"1\"\n}\n", []pipe.Message{ignored("the line {" + noMessage),
			ignored(`the line "type": "done",` + noMessage), ignored(`the line "run": "1"` + noMessage),
			ignored("the line }" + noMessage)}},
		"a long stack": {`{"type":"done","error":"a.B: x\n` + strings.Repeat(`\tat a.B.c(B.java:1)\n`, 1000) + `Caused by: a.C: y"}` + "\n",
			[]pipe.Message{{Type: "done", Error: "a.B: x (B.java:1)\nCaused by: a.C: y"}}},
		"GBK": {"{\"type\":\"done\",\"error\":\"\xb4\xed\xce\xf3: \xce\xde\xb7\xa8\xc1\xac\xbd\xd3\"}\n",
			[]pipe.Message{{Type: "done", Error: "错误: 无法连接"}}},
		"a line without end": {`{"type":"done"}`, []pipe.Message{ignored(unfinished)}},
		"the longest line":   {`{"type":"done","x":"` + strings.Repeat("x", 65_536-22) + `"}` + "\n", []pipe.Message{{Type: "done"}}},
		"a longer line":      {`{"type":"done","x":"` + strings.Repeat("x", 65_536-21) + `"}` + "\n" + `{"type":"hello"}` + "\n", []pipe.Message{ignored("a line of more than 65536 bytes"), {Type: "hello"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, theirs, messages := open(t)
			if _, err := io.WriteString(theirs[1], test.wrote); err != nil {
				t.Fatal(err)
			}
			_ = theirs[1].Close()
			if diff := cmp.Diff(test.want, messages()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A line that is not finished is reported while the process goes on, and becomes a message once it is finished.
func TestUnfinishedLine(t *testing.T) {
	t.Parallel()
	told := make(chan pipe.Message)
	p, theirs, err := pipe.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	go p.Read(pipe.Handlers{Message: func(m pipe.Message) { told <- m },
		Ignored: func(what string) { told <- ignored(what) },
		Closed:  func() { close(told) }})
	defer p.Close()
	_, _ = io.WriteString(theirs[1], `{"type":"done",`)
	if got := <-told; got != ignored(unfinished) {
		t.Errorf("got %v", got)
	}
	_, _ = io.WriteString(theirs[1], `"run":"1"}`+"\n")
	if got := <-told; got.Run != "1" {
		t.Errorf("got %v", got)
	}
	output := []error{theirs[0].Close(), theirs[1].Close()}
	if got, open := <-told; open || errors.Join(output...) != nil {
		t.Errorf("got %v", got)
	}
}

// A line of 100 MB, and a last line without an end, are skipped without being buffered.
func TestEndlessLine(t *testing.T) {
	_, theirs, messages := open(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	block := bytes.Repeat([]byte("x"), 1<<20)
	for range 100 {
		if _, err := theirs[1].Write(block); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	_, _ = io.WriteString(theirs[1], "\n"+`{"type":"done","run":"1"}`+"\n")
	_, _ = theirs[1].Write(block)
	_ = theirs[1].Close()
	if got := messages(); len(got) != 3 || got[1].Run != "1" {
		t.Errorf("got %v", got)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 10<<20 {
		t.Errorf("%d MB were allocated", took>>20)
	}
}

// Output that a process wrote before its end is read; another process that keeps the pipe open and goes on writing
// is not waited for.
func TestDrainWhileTheirEndIsOpen(t *testing.T) {
	t.Parallel()
	p, theirs, messages := open(t)
	_, _ = io.WriteString(theirs[1], `{"type":"done","run":"1"}`+"\n")
	written := make(chan struct{})
	go func() {
		defer close(written)
		for {
			if _, err := theirs[1].Write(make([]byte, 100)); err != nil {
				return
			}
		}
	}()
	p.Drain()
	if got := messages(); len(got) == 0 || got[0].Run != "1" { // perhaps followed by an unfinished line
		t.Errorf("got %v", got)
	}
	_ = theirs[1].Close()
	<-written
}

func TestSend(t *testing.T) {
	t.Parallel()
	p, theirs, _ := open(t)
	run := pipe.Run{ID: "1", FireTime: "2026-01-02T02:04:05.000Z", Source: "MISFIRE", Attempt: 2, ExecutionID: "e",
		Context: json.RawMessage(`{"a":1}`), Props: map[string]string{"k": "a\nb"}}
	if err := p.Send(run); err != nil {
		t.Fatal(err)
	}
	if err := p.Send(pipe.Cancel{Run: "1", Reason: "late"}); err != nil {
		t.Fatal(err)
	}
	p.CloseInput()
	got, err := io.ReadAll(theirs[0])
	want := `{"type":"run","run":"1","fireTime":"2026-01-02T02:04:05.000Z","source":"MISFIRE","attempt":2,"executionId":"e","context":{"a":1},"props":{"k":"a\nb"}}` + "\n" +
		`{"type":"cancel","run":"1","reason":"late"}` + "\n"
	if string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestSendToOneThatDoesNotRead(t *testing.T) {
	t.Parallel()
	p, theirs, _ := open(t)
	large := pipe.Cancel{Reason: strings.Repeat("x", 1<<20)}
	if err := p.Send(large); err == nil || !strings.Contains(err.Error(), "has not read its pipe") {
		t.Errorf("it doesn't read: %v", err)
	}
	_ = theirs[0].Close()
	if err := p.Send(large); err == nil || !strings.Contains(err.Error(), "has closed its pipe") {
		t.Errorf("it has closed its end: %v", err)
	}
}

// A space shows whether the process reads its pipe, and is a part of the next message.
func TestProbe(t *testing.T) {
	t.Parallel()
	p, theirs, _ := open(t)
	if err := p.Probe(); err != nil || p.Taken() {
		t.Fatalf("taken before the process has read it, %v", err)
	}
	first := make([]byte, 9)
	if n, err := theirs[0].Read(first); err != nil || string(first[:n]) != " " || !p.Taken() {
		t.Fatalf("%q, %v, taken %v", first[:n], err, p.Taken())
	}
	if err := p.Probe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Send(pipe.Cancel{Run: "1"}); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(theirs[0]).ReadString('\n')
	var message struct{ Type, Run string }
	if err := errors.Join(err, json.Unmarshal([]byte(line), &message)); err != nil || line[0] != ' ' ||
		message.Type != "cancel" {
		t.Errorf("%q, %v", line, err)
	}
	_ = theirs[0].Close()
	if p.Probe() == nil {
		t.Error("no error of a pipe that the process has closed")
	}
}
