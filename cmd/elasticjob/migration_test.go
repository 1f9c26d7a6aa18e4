package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/test/mariadb"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

// TestMigrationFromOtherSystems types the commands of docs/migration.md that read a database or ZooKeeper, and looks
// for the lines that the document shows.
func TestMigrationFromOtherSystems(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	addresses := strings.NewReplacer("zk1.example.com:2181", liteZooKeeperWithJobs(t), "xxl-job.dsn",
		xxlDatabaseWithJobs(t, folder))
	blocks := regexp.MustCompile("(?s)TestMigrationFromOtherSystems -->\n```sh\n(elasticjob [^\n]*)\n.*?```\n```text\n(.*?)```").
		FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d commands of the document were found", len(blocks))
	}
	for _, block := range blocks {
		line, _, _ := strings.Cut(addresses.Replace(block[1]), " > ")
		status, stdout, stderr := newSession(t).run("", words(line)[1:]...)
		if status != 0 {
			t.Fatalf("%s: status %d: %s", line, status, stderr)
		}
		rest := stderr + stdout
		for want := range strings.Lines(block[2]) {
			want, _, _ = strings.Cut(strings.TrimSuffix(want, "\n"), "…")
			at := strings.Index(rest, want)
			if at < 0 {
				t.Fatalf("%s: %q is missing, or comes too early, in\n%s%s", line, want, stderr, stdout)
			}
			rest = rest[at+len(want):]
		}
	}
}

func TestImportWithoutASourceNamesThePossibleOnes(t *testing.T) {
	t.Parallel()
	for system, flag := range map[string]string{"xxl-job": "--db", "elasticjob-lite": "--zk"} {
		if status, _, stderr := newSession(t).run("", "import", system); status != statusUsage ||
			!strings.Contains(stderr, "FILE, or "+flag) {
			t.Errorf("%s: status %d: %s", system, status, stderr)
		}
	}
}

// liteZooKeeperWithJobs starts ZooKeeper with the jobs of an ElasticJob-Lite and returns its address.
func liteZooKeeperWithJobs(t *testing.T) (address string) {
	server := zkserver.Start(t)
	conn, events, err := zk.Connect([]string{server.Address()}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range events {
		}
	}()
	defer conn.Close()
	for _, node := range [][2]string{
		{"/orders", ""}, {"/orders/orderJob", ""}, {"/orders/cleanUp", ""},
		{"/orders/orderJob/config", "cron: 0 0/10 * * * ?\ndescription: ''\njobListenerTypes: [audit]\njobName: orderJob\nmisfire: true\nshardingItemParameters: 0=north,1=south,2=west\nshardingTotalCount: 3\n"},
		{"/orders/cleanUp/config", "cron: 0 0 4 * * ?\njobName: cleanUp\nprops: {script.command.line: /srv/bin/clean-up.sh}\nshardingTotalCount: 1\ntimeZone: GMT+08:00\n"},
	} {
		if _, err := conn.Create(node[0], []byte(node[1]), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	return server.Address()
}

// xxlDatabaseWithJobs starts MariaDB with the tables of an XXL-JOB and returns a file with its address.
func xxlDatabaseWithJobs(t *testing.T, folder string) (file string) {
	server := mariadb.Start(t)
	dsn := server.Database(t)
	_, name, _ := strings.Cut(dsn, ")/")
	if _, err := server.Root(t).Exec("USE " + name + `;
CREATE TABLE xxl_job_group (id int PRIMARY KEY, app_name varchar(64), title varchar(12), address_type int, address_list text);
CREATE TABLE xxl_job_info (id int PRIMARY KEY, job_group int, job_desc varchar(255), schedule_type varchar(50), schedule_conf varchar(128), misfire_strategy varchar(50), executor_route_strategy varchar(50), executor_handler varchar(255), executor_param varchar(512), executor_block_strategy varchar(50), executor_timeout int, executor_fail_retry_count int, glue_type varchar(50), child_jobid varchar(255), trigger_status int);
INSERT INTO xxl_job_group VALUES (1, 'orders', 'Orders', 1, 'http://10.0.0.1:9999,http://10.0.0.2:9999');
INSERT INTO xxl_job_info VALUES (1, 1, 'Bills', 'CRON', '0 0 3 * * ?', 'DO_NOTHING', 'SHARDING_BROADCAST', 'billHandler', '', 'DISCARD_LATER', 600, 2, 'BEAN', '7', 1)`); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(folder, "xxl-job.dsn")
	if err := os.WriteFile(file, []byte(dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
