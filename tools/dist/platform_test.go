//go:build nightly

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/moby/buildkit/solver/pb"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestDockerfileBuildsForTheRequestedPlatform converts the Dockerfile as BuildKit does for a build on amd64: for
// each platform that is requested, the programs are built for it, by a compiler for amd64, and the image says that
// it is for that platform. A default of TARGETARCH in the Dockerfile would take precedence over the platform, and
// images for arm64 would then hold programs for amd64.
func TestDockerfileBuildsForTheRequestedPlatform(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"server", "task", "setup"} {
		for _, arch := range []string{"amd64", "arm64"} {
			t.Run(target+" "+arch, func(t *testing.T) {
				t.Parallel()
				builds, compiler, image := convert(t, dockerfile, target, arch)
				if image != arch {
					t.Errorf("the image is for %s", image)
				}
				if compiler != "amd64" {
					t.Errorf("the programs are built in an image for %q, which is slow where it is emulated", compiler)
				}
				if len(builds) != 1 {
					t.Fatalf("%d steps run make dist, not one", len(builds))
				}
				for _, variable := range []string{"TARGETOS=linux", "TARGETARCH=" + arch} {
					if !slices.Contains(builds[0].Meta.Env, variable) {
						t.Errorf("make dist runs without %s: %q", variable, builds[0].Meta.Env)
					}
				}
			})
		}
	}
}

// convert converts a target for a platform on a machine with amd64. It returns the steps that run make dist, and
// the architectures of the image with the compiler and of the image that is built.
func convert(t *testing.T, dockerfile []byte, target, arch string) (builds []*pb.ExecOp, compiler, image string) {
	t.Helper()
	machine, platform := ocispecs.Platform{OS: "linux", Architecture: "amd64"},
		ocispecs.Platform{OS: "linux", Architecture: arch}
	state, config, _, _, err := dockerfile2llb.Dockerfile2LLB(context.Background(), dockerfile,
		dockerfile2llb.ConvertOpt{
			Config: dockerui.Config{
				Target: target, BuildPlatforms: []ocispecs.Platform{machine},
				TargetPlatforms: []ocispecs.Platform{platform},
			},
			MetaResolver:   baseImages{},
			TargetPlatform: &platform,
		})
	if err != nil {
		t.Fatal(err)
	}
	definition, err := state.Marshal(context.Background(), llb.Platform(platform))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range definition.Def {
		op := &pb.Op{}
		if err := op.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		if run := op.GetExec(); run != nil && strings.Contains(strings.Join(run.Meta.Args, " "), "make dist") {
			builds = append(builds, run)
		}
		if strings.Contains(op.GetSource().GetIdentifier(), "/golang:") {
			compiler = op.GetPlatform().GetArchitecture()
		}
	}
	return builds, compiler, config.Architecture
}

// baseImages answers for every base image that there is one for the platform, so that no registry is asked.
type baseImages struct{}

func (baseImages) ResolveImageConfig(
	_ context.Context, ref string, opt sourceresolver.Opt,
) (string, digest.Digest, []byte, error) {
	if opt.Platform == nil {
		return "", "", nil, fmt.Errorf("the image %s is asked for without a platform", ref)
	}
	// An image without layers would count as empty and would not be used.
	layers := ocispecs.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromString(ref)}}
	config, err := json.Marshal(ocispecs.Image{Platform: *opt.Platform, RootFS: layers})
	return ref, digest.FromBytes(config), config, err
}
