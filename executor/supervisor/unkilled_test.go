package supervisor

import (
	"encoding/gob"
	"os"
	"testing"
	"time"
)

// TestAProcessThatCannotBeKilled plays a supervisor whose processes survive every SIGKILL.
func TestAProcessThatCannotBeKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease      time.Duration // Spec.Until
		ends       bool          // it ends after the second SIGKILL
		isUnkilled bool
	}{
		"with a lease":                 {lease: time.Hour, isUnkilled: true},
		"with a lease, it ends late":   {lease: time.Hour, ends: true},
		"without a lease, it is known": {ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, ends, err := connect()
			if err != nil {
				t.Fatal(err)
			}
			client.patience, client.lastWait = time.Millisecond, time.Minute
			if c.isUnkilled {
				client.lastWait = time.Millisecond
			}
			client.reader.Go(client.read)
			client.reader.Go(func() { pretend(ends[0], c.ends) })
			t.Cleanup(func() {
				closeAll(ends[1:])
				_ = client.Close()
			})
			process, err := client.Start(Spec{Until: c.lease})
			if err != nil {
				t.Fatal(err)
			}
			if err := process.Kill(time.Hour); err != nil {
				t.Fatal(err)
			}
			if err := process.Kill(0); err != nil { // the shorter grace counts
				t.Fatal(err)
			}
			if c.lease == 0 {
				if process.giveUp != nil {
					t.Error("a process without a lease is given up")
				}
				_ = process.Kill(0)
			}
			if exit, ok := process.WaitExit(); !ok || exit.Unkilled != c.isUnkilled {
				t.Errorf("the end: %+v, known: %v", exit, ok)
			}
			if err := process.Kill(0); err != nil {
				t.Errorf("a kill after the end: %v", err)
			}
		})
	}
}

// pretend answers the requests of a client. If ends is set, a process ends at its second SIGKILL.
func pretend(socket *os.File, ends bool) {
	defer func() { _ = socket.Close() }()
	decoder, encoder := gob.NewDecoder(socket), gob.NewEncoder(socket)
	kills := 0
	for {
		var r request
		if decoder.Decode(&r) != nil {
			return
		}
		switch {
		case r.Start != nil:
			_ = encoder.Encode(event{ID: r.ID, PID: 4711, At: time.Now()})
		case r.Grace == 0:
			if kills++; kills == 2 && ends {
				_ = encoder.Encode(event{ID: r.ID, Exit: &Exit{Killed: true, At: time.Now()}})
			}
		}
	}
}
