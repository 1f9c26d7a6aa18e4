package executor_test
import ("testing";"os";"fmt";"strconv";"strings";"time";mesos "github.com/mesos/mesos-go/api/v1/lib")
func TestZZ(t *testing.T){
 a:=newAgent(t); url:=script(t,"exit 0"); N:=3000; b:=time.Now()
 os.WriteFile("/tmp/zzpid",[]byte(strconv.Itoa(a.cmd.Process.Pid)),0o644)
 for n:=1;n<=N;n++{ task:=taskOf(strconv.Itoa(n),url); task.Command=[]string{"true"}; a.launch(task); if n%64==0 {a.await(strconv.Itoa(n),mesos.TASK_FINISHED)} }
 a.await(strconv.Itoa(N),mesos.TASK_FINISHED)
 fmt.Println("per task", time.Since(b)/time.Duration(N))
 for _,p:=range inSession(a.cmd.Process.Pid){ x,_:=os.ReadFile(fmt.Sprintf("/proc/%d/stat",p)); f:=strings.Fields(string(x)); fmt.Println(p,f[1],"utime",f[13],"stime",f[14],"cu",f[15],"cs",f[16],"(x10ms)")}
 x,_:=os.ReadFile("/proc/self/stat"); f:=strings.Fields(string(x)); fmt.Println("test",f[13],f[14])
}
