package api_test
import ("testing";"os";"github.com/elasticjob-go/elasticjob/api";"github.com/elasticjob-go/elasticjob/test/described";"time")
func TestZZ(t *testing.T){ text,err:=api.New(api.Options{Scheduler:newFakeScheduler(),Access:noUsers{}}).Description(); if err!=nil{t.Fatal(err)}; os.WriteFile("/tmp/oa/openapi.json",text,0o644)
 b:=time.Now()
 d,err:=described.New(text); t.Log(time.Since(b)); if err!=nil{t.Fatal(err)}; t.Log(len(d.Operations()))
}
