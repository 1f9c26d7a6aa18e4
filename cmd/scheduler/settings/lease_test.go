package settings

import (
	"slices"
	"testing"
)

func TestLeaseAddresses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lease                   Lease
		kubernetes              bool
		api, listens, advertise string
		on                      string
		urls                    []string
	}{
		"beside the API":               {Lease{}, false, "127.0.0.1:8899", "127.0.0.1:18899", "127.0.0.1:8899", "127.0.0.1:18899", []string{"http://127.0.0.1:18899"}},
		"on all addresses":             {Lease{}, false, "0.0.0.0:8899", "[::]:18899", "ej1:80", "0.0.0.0:18899", []string{"http://ej1:18899"}},
		"a high port":                  {Lease{}, false, "[::1]:60000", "[::1]:50000", "[::1]:60000", "[::1]:50000", []string{"http://[::1]:50000"}},
		"any port":                     {Lease{}, false, "127.0.0.1:0", "127.0.0.1:4711", "127.0.0.1:33333", "127.0.0.1:0", []string{"http://127.0.0.1:4711"}},
		"set":                          {Lease{Listen: ":7000"}, false, "127.0.0.1:8899", "[::]:7000", "ej1:8899", ":7000", []string{"http://ej1:7000"}},
		"of several servers":           {Lease{URLs: []string{"http://ej1:1", "http://ej2:1"}}, false, "ej1:8899", "ej1:18899", "ej1:8899", "ej1:18899", []string{"http://ej1:1", "http://ej2:1"}},
		"on Kubernetes":                {Lease{}, true, "10.0.0.1:8899", "[::]:18899", "10.0.0.1:8899", "10.0.0.1:18899", nil},
		"on Kubernetes with a Service": {Lease{URLs: []string{"http://leases:1"}}, true, "10.0.0.1:8899", "[::]:18899", "10.0.0.1:8899", "10.0.0.1:18899", []string{"http://leases:1"}},
	} {
		c := Config{Lease: test.lease, Kubernetes: Kubernetes{On: test.kubernetes}}
		if on := test.lease.ListenOn(test.api); on != test.on {
			t.Errorf("%s: listens on %s", name, on)
		}
		if urls := c.LeaseURLs(test.listens, test.advertise); !slices.Equal(urls, test.urls) {
			t.Errorf("%s: %v", name, urls)
		}
	}
}

func TestLeaseURLs(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"http://ej1:18899": true, "http://[::1]:18899": true, "http://10.0.0.7:1": true,
		"ej1:18899": false, "http://ej1": false, "https://ej1:18899": false, "http://ej1:18899/": false,
		"http://ej1:18899?": false, "http://ej1:18899#f": false, "http://:18899": false, "http://ej1:99999": false,
		"http://0.0.0.0:18899": false, "http://[::]:18899": false, "http://me:x@ej1:18899": false, "http://ej1:0": false,
		"://": false,
	} {
		if err := checkLeaseURL(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
