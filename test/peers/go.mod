// Programs that use the v1 API and that nobody of this project wrote: mesos-go's example
// framework with its executor. cluster/local's tests build and run them, unchanged. They are
// a module of their own because example-scheduler needs an old client_golang.
module github.com/elasticjob-go/elasticjob/test/peers

go 1.26.0

tool (
	github.com/mesos/mesos-go/api/v1/cmd/example-executor
	github.com/mesos/mesos-go/api/v1/cmd/example-scheduler
)

require (
	github.com/beorn7/perks v1.0.0 // indirect
	github.com/gogo/protobuf v1.1.1 // indirect
	github.com/golang/protobuf v1.3.1 // indirect
	github.com/google/uuid v1.0.0 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.1 // indirect
	github.com/mesos/mesos-go v0.0.11 // indirect
	github.com/pborman/uuid v1.2.1 // indirect
	github.com/pquerna/ffjson v0.0.0-20190930134022-aa0246cd15f7 // indirect
	github.com/prometheus/client_golang v0.9.4 // indirect
	github.com/prometheus/client_model v0.0.0-20190129233127-fd36f4220a90 // indirect
	github.com/prometheus/common v0.4.1 // indirect
	github.com/prometheus/procfs v0.0.2 // indirect
)
