package platform

import (
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/keep"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podevent"
	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/podlog"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
)

// openKubernetes creates the clients of the API server, without connecting. The output of tasks uses separate
// connections, because clients that follow output hold many connections for a long time.
func openKubernetes(c *settings.Config, address string, log *slog.Logger) (Platform, error) {
	k := &c.Kubernetes
	config, _, err := kubernetes.Connect(k.Kubeconfig)
	if err != nil {
		return Platform{}, err
	}
	outputs, err := kubernetes.NewAPI(config)
	if err != nil {
		return Platform{}, err
	}
	files, err := podlog.NewFiles(podlog.Options{Core: outputs.Core, Folder: filepath.Join(c.DataDir, "output")})
	if err != nil {
		return Platform{}, err
	}
	follower := podlog.NewFollower(podlog.FollowerOptions{Core: outputs.Core, Logger: log})
	keeper := keep.New(keep.Options{Rules: k.Rules, Core: outputs.Core, Logger: log})
	recorder := podevent.New(outputs.Core, log)
	closeAll := func() error {
		keeper.Close()
		recorder.Close()
		err := files.Close()
		follower.Wait()
		outputs.Close()
		return err
	}
	driver, err := kubernetes.New(kubernetes.Options{Config: config, Pods: pods(c), Follower: follower,
		Keeper: keeper, Recorder: recorder, ShowUnplaced: k.ShowUnplaced, Logger: log})
	if err != nil {
		return Platform{}, errors.Join(err, closeAll())
	}
	return Platform{
		Driver: driver, Output: files, Framework: framework(c, address), PodTemplate: pods(c).Check, Image: k.Image,
		Throttled: func() int64 { return driver.API().Throttled() + outputs.Throttled() },
		Close:     func() error { return errors.Join(driver.Close(), closeAll()) },
	}, nil
}
