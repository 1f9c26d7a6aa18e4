package pod

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// checkVolumes checks the volumes of a template that is merged onto base.
func (c *fieldCheck) checkVolumes(own, base *corev1.PodSpec) {
	var seen []string
	for i, v := range own.Volumes {
		path := fmt.Sprintf("%s.spec.volumes[%d]", field, i)
		switch {
		case isOurVolume(v.Name):
			c.violate(path+".name", v.Name, "is the name of a volume that the scheduler creates; choose another")
		case v.Name != "" && slices.Contains(seen, v.Name):
			c.violate(path+".name", v.Name, "is also the name of an earlier volume")
		}
		seen = append(seen, v.Name)
		for _, b := range base.Volumes {
			if b.Name == v.Name && len(sources(v)) == 1 && len(sources(b)) == 1 && sources(v)[0] != sources(b)[0] {
				c.violate(path, nil,
					"is of type %s, but of type %s in the template of --kubernetes-pod-template: choose another name",
					sources(v)[0], sources(b)[0])
			}
		}
	}
}

// checkContainers checks the containers of a template that is merged onto base.
func (c *fieldCheck) checkContainers(own, base *corev1.PodSpec) {
	volumes := map[string]bool{}
	for _, v := range append(slices.Clone(base.Volumes), own.Volumes...) {
		volumes[v.Name] = true
	}
	// A container may refer to a volume that could not be parsed.
	volumesIncomplete := c.hasViolation(field+".spec.volumes") || volumes[""]
	var seen []string
	check := func(list string, all, baseContainers []corev1.Container, ourName string) {
		for i := range all {
			one, before := &all[i], corev1.Container{}
			path := fmt.Sprintf("%s.spec.%s[%d]", field, list, i)
			index := slices.IndexFunc(baseContainers, func(b corev1.Container) bool { return b.Name == one.Name })
			if index >= 0 {
				before = baseContainers[index]
			}
			switch {
			case list == "containers" && one.Name != Container:
				if one.Name != "" || !c.unsure[path] {
					c.violate(path+".name", one.Name,
						"must be %s, the container that the job runs in: another one would continue after the job has "+
							"ended; make it an init container with restartPolicy: Always, a sidecar, which ends with "+
							"the job",
						Container)
				}
			case one.Name == "":
				c.missing(path, "name", "is missing: it identifies the container; the job's is %s", Container)
			case list == "initContainers" && one.Name == Container:
				c.violate(path+".name", one.Name, "is the name of the job's container; choose another")
			case slices.Contains(seen, one.Name):
				c.violate(path+".name", one.Name, "is also the name of an earlier container")
			case one.Name != ourName && one.Image == "" && before.Image == "":
				c.missing(path, "image", "is missing: only the containers %s and %s, which the scheduler creates, need none",
					Container, Prepare)
			}
			seen = append(seen, one.Name)
			c.checkContainer(path, one, one.Name == ourName)
			c.checkPrivilege(path, one, &before, one.Name == ourName)
			for j, m := range one.VolumeMounts {
				if m.Name != "" && !volumesIncomplete && !volumes[m.Name] && !isOurVolume(m.Name) {
					c.violate(fmt.Sprintf("%s.volumeMounts[%d].name", path, j), m.Name,
						"is not a volume in podTemplate.spec.volumes")
				}
			}
			isSidecar := one.RestartPolicy != nil && *one.RestartPolicy == corev1.ContainerRestartPolicyAlways ||
				before.RestartPolicy != nil
			if list == "initContainers" && !isSidecar {
				c.rejectSidecarFields(path, one)
			}
		}
	}
	check("initContainers", own.InitContainers, base.InitContainers, Prepare)
	check("containers", own.Containers, base.Containers, Container)
}

// checkContainer checks one container of a template. ours is set for the containers that the scheduler creates.
func (c *fieldCheck) checkContainer(path string, one *corev1.Container, ours bool) {
	for i, v := range one.Env {
		if v.Value != "" && secrets.IsName(v.Name) {
			c.violate(fmt.Sprintf("%s.env[%d].value", path, i), nil,
				"has the name of a secret, and everyone who may see the app would see it; "+
					"put it into a Secret and refer to it with valueFrom.secretKeyRef")
		}
	}
	var mounted, ports []string
	for i, m := range one.VolumeMounts {
		at := fmt.Sprintf("%s.volumeMounts[%d]", path, i)
		switch {
		case isOurVolume(m.Name):
			c.violate(at+".name", m.Name, "is the executor's own volume")
		case ours && m.MountPath != "" && isOurPath(m.MountPath):
			c.violate(at+".mountPath", m.MountPath, "is, or hides, one of the executor's folders; mount it elsewhere")
		case m.MountPath != "" && slices.Contains(mounted, m.MountPath):
			c.violate(at+".mountPath", m.MountPath, "is also the mount path of another volume")
		}
		mounted = append(mounted, m.MountPath)
	}
	for i, p := range one.Ports {
		at := fmt.Sprintf("%s.ports[%d]", path, i)
		if p.ContainerPort != 0 && (p.ContainerPort < 1 || p.ContainerPort > 65535) {
			c.violate(at+".containerPort", fmt.Sprint(p.ContainerPort), "must be between 1 and 65535")
		}
		if p.Name != "" && slices.Contains(ports, p.Name) {
			c.violate(at+".name", p.Name, "is also the name of an earlier port")
		}
		ports = append(ports, p.Name)
	}
	if !ours {
		c.rejectResources(path, one)
		return
	}
	for i, v := range one.Env {
		if isOurVariable(v.Name) {
			c.violate(fmt.Sprintf("%s.env[%d].name", path, i), v.Name,
				"can't be set: the scheduler sets all names that begin with ELASTICJOB_")
		}
	}
	for i, d := range one.VolumeDevices {
		if isOurVolume(d.Name) || isOurPath(d.DevicePath) {
			c.violate(fmt.Sprintf("%s.volumeDevices[%d]", path, i), d.Name,
				"is, or hides, one of the executor's folders")
		}
	}
}

// checkPrivilege rejects a container that is privileged although its allowPrivilegeEscalation is false, which is the
// default for the containers that the scheduler creates (ours). before is the container of the same name in the
// installation's template, onto which this one is merged.
func (c *fieldCheck) checkPrivilege(path string, one, before *corev1.Container, ours bool) {
	escalationDenied := ours
	for _, of := range []*corev1.SecurityContext{before.SecurityContext, one.SecurityContext} {
		if of != nil && of.AllowPrivilegeEscalation != nil {
			escalationDenied = !*of.AllowPrivilegeEscalation
		}
	}
	if s := one.SecurityContext; escalationDenied && s != nil && s.Privileged != nil && *s.Privileged {
		c.violate(path+".securityContext.privileged", true, "requires allowPrivilegeEscalation: true")
	}
}

// rejectSidecarFields rejects the fields that an init container may have only if it is a sidecar.
func (c *fieldCheck) rejectSidecarFields(path string, one *corev1.Container) {
	for _, f := range []struct {
		name  string
		isSet bool
	}{{"lifecycle", one.Lifecycle != nil}, {"livenessProbe", one.LivenessProbe != nil},
		{"readinessProbe", one.ReadinessProbe != nil}, {"startupProbe", one.StartupProbe != nil}} {
		if f.isSet {
			c.violate(path+"."+f.name, nil, "is only for init containers with restartPolicy: Always")
		}
	}
}

// sources returns the names of a volume's sources, such as emptyDir. A valid volume has exactly one.
func sources(v corev1.Volume) (names []string) {
	all := reflect.ValueOf(v.VolumeSource)
	for i := range all.NumField() {
		if !all.Field(i).IsNil() {
			name, _, _ := strings.Cut(all.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// rejectResources rejects the resource requests of a container that the scheduler did not create. The scheduler places
// a shard by the resources of its job, so the pod must request exactly those. A limit without a request counts as a
// request, as in Kubernetes.
func (c *fieldCheck) rejectResources(path string, one *corev1.Container) {
	for _, name := range slices.Sorted(maps.Keys(one.Resources.Requests)) {
		if q := one.Resources.Requests[name]; !q.IsZero() {
			c.violate(path+".resources.requests."+string(name), q.String(),
				"must be 0: %s, and its pod requests no more", shardResources)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(one.Resources.Limits)) {
		q := one.Resources.Limits[name]
		if _, requested := one.Resources.Requests[name]; !requested && !q.IsZero() {
			c.violate(path+".resources.limits."+string(name), q.String(),
				"also counts as a request if there is none: add resources.requests.%s: 0", name)
		}
	}
	if len(one.Resources.Claims) > 0 {
		c.violate(path+".resources.claims", "", "devices are not considered when shards are placed")
	}
}
