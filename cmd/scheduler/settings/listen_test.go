package settings

import (
	"strings"
	"testing"
)

func TestCheckListen(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"127.0.0.1:8899", "localhost:0", "[::1]:8899", "127.1.2.3:65535", ":8899",
		"0.0.0.0:8899", "[::]:8899", "example.org:80"} {
		if err := checkListen(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, why := range map[string]string{
		"127.0.0.1": "host:port", "": "host:port", "127.0.0.1:http": "not a port", "127.0.0.1:65536": "not a port",
		"localhost:-1": "not a port", "127.0.0.1:": "not a port",
	} {
		if err := checkListen(bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
