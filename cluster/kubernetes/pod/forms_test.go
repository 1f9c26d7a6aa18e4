package pod_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/cluster/kubernetes/pod"
)

// malformed maps templates to a part of the violation that Check returns for them. Each template has one mistake for
// which the API server would reject its pods.
var malformed = map[string]string{
	shardWith(`"volumeMounts":[{"name":"b","mountPath":"/x"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[0].name: is not a volume in podTemplate.spec.volumes",
	shardWith(`"volumeMounts":[{"mountPath":"/x"}]`): "podTemplate.spec.containers[0].volumeMounts[0].name: is missing",
	shardWith(`"volumeMounts":[{"name":"a"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[0].mountPath: is missing",
	shardWith(`"volumeMounts":[{"name":"a","mountPath":"/x","subPath":"../b"}]`,
		`{"name":"a"}`): "podTemplate.spec.containers[0].volumeMounts[0].subPath: must not contain '..'",
	shardWith(``, `{"name":"a_b"}`):                                                                      "podTemplate.spec.volumes[0].name: a lowercase RFC 1123 label must consist",
	shardWith(``, `{"emptyDir":{}}`):                                                                     "podTemplate.spec.volumes[0].name: is missing",
	shardWith(``, `{"name":"a","emptyDir":{},"configMap":{"name":"c"}}`):                                 "podTemplate.spec.volumes[0]: has configMap and emptyDir, but may have only one of them",
	shardWith(``, `{"name":"a","hostPath":{}}`):                                                          "podTemplate.spec.volumes[0].hostPath.path: is missing",
	shardWith(``, `{"name":"a","hostPath":{"path":"/a/../b"}}`):                                          "podTemplate.spec.volumes[0].hostPath.path: must not contain '..'",
	shardWith(``, `{"name":"a","hostPath":{"path":"/a","type":"Folder"}}`):                               "podTemplate.spec.volumes[0].hostPath.type: must be DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice or BlockDevice",
	shardWith(``, `{"name":"a","secret":{}}`):                                                            "podTemplate.spec.volumes[0].secret.secretName: is missing",
	shardWith(`"env":[{"value":"a"}]`):                                                                   "podTemplate.spec.containers[0].env[0].name: is missing",
	shardWith(`"env":[{"name":"a=b"}]`):                                                                  "podTemplate.spec.containers[0].env[0].name: a valid environment variable name must consist",
	shardWith(`"env":[{"name":"a","value":"b","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]`): "podTemplate.spec.containers[0].env[0]: has value and valueFrom, but may have only one of them",
	shardWith(`"env":[{"name":"a","valueFrom":{}}]`):                                                     "podTemplate.spec.containers[0].env[0].valueFrom: needs one of configMapKeyRef",
	shardWith(`"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"b"}}}]`):                          "podTemplate.spec.containers[0].env[0].valueFrom.secretKeyRef.key: is missing",
	shardWith(`"env":[{"name":"a","valueFrom":{"secretKeyRef":{"name":"b","key":"c d"}}}]`):              "podTemplate.spec.containers[0].env[0].valueFrom.secretKeyRef.key: a valid config key must consist",
	shardWith(`"envFrom":[{}]`):                                                                          "podTemplate.spec.containers[0].envFrom[0]: needs one of configMapRef, secretRef",
	shardWith(`"ports":[{"containerPort":70000}]`):                                                       "podTemplate.spec.containers[0].ports[0].containerPort: must be between 1 and 65535",
	shardWith(`"ports":[{"name":"web"}]`):                                                                "podTemplate.spec.containers[0].ports[0].containerPort: is missing",
	shardWith(`"ports":[{"containerPort":80,"protocol":"tcp"}]`):                                         "podTemplate.spec.containers[0].ports[0].protocol: must be TCP, UDP or SCTP",
	shardWith(`"ports":[{"containerPort":80,"name":"a"},{"containerPort":81,"name":"a"}]`):               "podTemplate.spec.containers[0].ports[1].name: is also the name of an earlier port",
	shardWith(`"livenessProbe":{"exec":{"command":["a"]},"tcpSocket":{"port":1}}`):                       "podTemplate.spec.containers[0].livenessProbe: has exec and tcpSocket",
	shardWith(`"securityContext":{"privileged":true}`):                                                   "podTemplate.spec.containers[0].securityContext.privileged: requires allowPrivilegeEscalation: true",
	`{"spec":{"initContainers":[{"name":"a"}]}}`:                                                         "podTemplate.spec.initContainers[0].image: is missing: only the containers shard and fetch, which the scheduler creates, need none",
	`{"spec":{"initContainers":[{"name":"a","image":" i"}]}}`:                                            "podTemplate.spec.initContainers[0].image: begins or ends with white space",
	`{"spec":{"initContainers":[{"name":"a","image":"i","imagePullPolicy":"Sometimes"}]}}`:               "podTemplate.spec.initContainers[0].imagePullPolicy: must be Always, IfNotPresent or Never",
	`{"spec":{"initContainers":[{"name":"A","image":"i"}]}}`:                                             "podTemplate.spec.initContainers[0].name: a lowercase RFC 1123 label must consist",
	`{"spec":{"initContainers":[{"name":"shard","image":"i"}]}}`:                                         "podTemplate.spec.initContainers[0].name: is the name of the job's container",
	`{"spec":{"initContainers":[{"name":"a","image":"i","readinessProbe":{"exec":{"command":["a"]}}}]}}`: "podTemplate.spec.initContainers[0].readinessProbe: is only for init containers with restartPolicy: Always",
	`{"metadata":{"labels":{"a":"` + strings.Repeat("x",
		64) + `"}}}`: "podTemplate.metadata.labels.a: must be no more than 63",
	`{"spec":{"nodeSelector":{"a":"` + strings.Repeat("x",
		64) + `"}}}`: "podTemplate.spec.nodeSelector.a: is not a valid node label: must be no more than 63",
	`{"spec":{"nodeSelector":{"a b":"c"}}}`:                        "podTemplate.spec.nodeSelector.a b: is not a valid node label",
	`{"spec":{"tolerations":[{"key":"a b"}]}}`:                     "podTemplate.spec.tolerations[0].key: name part must consist",
	`{"spec":{"tolerations":[{"key":"a","tolerationSeconds":5}]}}`: "podTemplate.spec.tolerations[0].tolerationSeconds: is only for the effect NoExecute",
	`{"spec":{"dnsPolicy":"Mine"}}`:                                "podTemplate.spec.dnsPolicy: must be ClusterFirst, ClusterFirstWithHostNet, Default or None",
	`{"spec":{"serviceAccountName":"A_b"}}`:                        "podTemplate.spec.serviceAccountName: a lowercase RFC 1123 subdomain",
	`{"spec":{"hostname":"a.b"}}`:                                  "podTemplate.spec.hostname: must not contain dots",
	`{"spec":{"hostAliases":[{"ip":"h"}]}}`:                        "podTemplate.spec.hostAliases[0].ip: is not an IP address",
	affinity():                                                     "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: is missing",
	affinity(`{"matchExpressions":[{"operator":"Exists"}]}`):       "nodeSelectorTerms[0].matchExpressions[0].key: is missing",
}

// shardWith returns a template with these fields of the job's container and these volumes.
func shardWith(fields string, volumes ...string) string {
	return `{"spec":{"containers":[{"name":"shard"` + strings.TrimSuffix(","+fields,
		",") + `}],"volumes":[` + strings.Join(volumes, ",") + `]}}`
}

// An app's template is checked together with the installation's template: it may use and override what that one has,
// but not give a volume another type.
func TestCheckKnowsTheInstallationsTemplate(t *testing.T) {
	t.Parallel()
	base := pod.Settings{Template: []byte(`{"spec":{"volumes":[{"name":"data","configMap":{"name":"c"}}],
		"containers":[{"name":"shard","securityContext":{"allowPrivilegeEscalation":true}}],"initContainers":[{"name":"log","image":"i","restartPolicy":"Always"}]}}`)}
	for template, want := range map[string]string{
		shardWith(`"volumeMounts":[{"name":"data","mountPath":"/x"}]`):                                     "",
		shardWith(`"securityContext":{"privileged":true}`):                                                 "",
		shardWith(``, `{"name":"data","configMap":{"name":"d"}}`):                                          "",
		`{"spec":{"initContainers":[{"name":"log","livenessProbe":{"exec":{"command":["a"]}}}]}}`:          "",
		shardWith(``, `{"name":"data","emptyDir":{}}`):                                                     "podTemplate.spec.volumes[0]: is of type emptyDir, but of type configMap in the template of --kubernetes-pod-template: choose another name",
		shardWith(`"securityContext":{"privileged":true,"allowPrivilegeEscalation":false}`):                "requires allowPrivilegeEscalation: true",
		`{"spec":{"initContainers":[{"name":"other","volumeMounts":[{"name":"data","mountPath":"/x"}]}]}}`: "podTemplate.spec.initContainers[0].image: is missing",
		`{"spec":{"initContainers":[{"name":"log","volumeMounts":[{"name":"date","mountPath":"/x"}]}]}}`:   "podTemplate.spec.initContainers[0].volumeMounts[0].name: is not a volume",
	} {
		if got := base.Check([]byte(template)).Error(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n got %s\nwant %s", template, got, want)
		}
	}
}
