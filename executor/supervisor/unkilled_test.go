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
		givesUp    bool // Spec.GiveUp
		leaves     bool // it ends by itself, and leaves others that can't be killed
		ends       bool // it ends after the second SIGKILL
		isUnkilled bool
	}{
		"it never ends":         {givesUp: true, isUnkilled: true},
		"one of others is left": {givesUp: true, leaves: true, isUnkilled: true},
		"it ends late":          {givesUp: true, ends: true},
		"it is waited for":      {ends: true},
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
			client.reader.Go(func() { pretend(ends[0], c.ends, c.leaves) })
			t.Cleanup(func() {
				closeAll(ends[1:])
				_ = client.Close()
			})
			process, err := client.Start(Spec{GiveUp: c.givesUp})
			if err != nil {
				t.Fatal(err)
			}
			if !c.leaves {
				for _, grace := range []time.Duration{time.Hour, 0} { // the shorter grace counts
					if err := process.Kill(grace); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !c.givesUp {
				if process.giveUp != nil {
					t.Error("it is given up")
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

// pretend answers the requests of a client. If ends is set, a process ends at its second SIGKILL. If leaves is set, its
// main process ends by itself and leaves others.
func pretend(socket *os.File, ends, leaves bool) {
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
			if leaves {
				_ = encoder.Encode(event{ID: r.ID, Left: true})
			}
		case r.Grace == 0:
			if kills++; kills == 2 && ends {
				_ = encoder.Encode(event{ID: r.ID, Exit: &Exit{Killed: true, At: time.Now()}})
			}
		}
	}
}
