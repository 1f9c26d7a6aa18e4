package origin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/cmd/elasticjob/origin"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// TestLiteNodes reads a namespace with jobs of all versions of ElasticJob-Lite.
func TestLiteNodes(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t)
	conn, events, err := zk.Connect([]string{server.Address()}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	go func() {
		for range events {
		}
	}()
	for _, node := range [][2]string{
		{"/orders", ""},
		{"/orders/bills", ""},
		{"/orders/bills/config", "cron: 0 0 3 * * ?\njobName: bills\nshardingTotalCount: 2\nfailover: true\nmisfire: true\nprops: {a: b}\n"},
		{"/orders/bills/servers", ""}, {"/orders/bills/servers/10.0.0.1", "DISABLED"}, {"/orders/bills/servers/10.0.0.2", "DISABLED"},
		{"/orders/mails", ""},
		{"/orders/mails/config", `{"jobName":"mails","jobClass":"com.example.Mails","jobType":"SIMPLE","cron":"0 0 4 * * ?","shardingTotalCount":1,"misfire":false}`},
		{"/orders/mails/servers", ""}, {"/orders/mails/servers/10.0.0.1", ""}, {"/orders/mails/servers/10.0.0.2", "DISABLED"},
		{"/orders/old", ""}, {"/orders/old/config", ""}, {"/orders/old/config/cron", "0 0 5 * * ?"},
		{"/orders/old/config/shardingTotalCount", "3"}, {"/orders/old/config/shardingItemParameters", "0=a,1=b,2=c"},
		{"/orders/broken", ""}, {"/orders/broken/config", "a: ["},
		{"/orders/nothing", ""},
	} {
		if _, err := conn.Create(node[0], []byte(node[1]), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	nodes, err := origin.LiteNodes(t.Context(), server.Address()+"/orders", "")
	if err != nil {
		t.Fatal(err)
	}
	result, err := convert.LiteNodes("zk", nodes, convert.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	text, err := definitions.Encode(result.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"jobName: bills\nappName: elasticjob-lite\ncron: 0 0 3 * * ?\nshardingTotalCount: 2\n", "props:\n  a: b\ndisabled: true\n",
		"jobName: mails\nappName: elasticjob-lite\ncron: 0 0 4 * * ?\n",
		"jobName: old\nappName: elasticjob-lite\ncron: 0 0 5 * * ?\nshardingTotalCount: 3\ncpuCount: 0.1\nmemoryMB: 128\nshardingItemParameters: 0=a,1=b,2=c\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var remarks strings.Builder
	for _, one := range result.Remarks {
		remarks.WriteString(one.String() + "\n")
	}
	for _, want := range []string{"mails: it is disabled on 1 of 2 servers",
		"the configuration of broken is not read"} {
		if !strings.Contains(remarks.String(), want) {
			t.Errorf("%q is not in\n%s", want, remarks.String())
		}
	}
	if _, err := origin.LiteNodes(t.Context(), server.Address()+"/nowhere", ""); err == nil ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

func TestUnreachableZooKeeper(t *testing.T) {
	t.Parallel()
	_, err := origin.LiteNodes(t.Context(), "127.0.0.1:1/orders", "")
	if err == nil || !strings.Contains(err.Error(), "connection refused") ||
		!strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
}

func TestAddressesWithoutANamespace(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "localhost:2181", "localhost:2181/"} {
		if _, err := origin.LiteNodes(t.Context(), address, ""); err == nil ||
			!strings.Contains(err.Error(), "HOSTS/NAMESPACE") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
