package master

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/scheduler"
)

func (m *Master) info() *mesos.MasterInfo { return Info(m.id, m.opts.Hostname, m.opts.Address) }

// Info is what a master says of itself, to frameworks and in ZooKeeper. The address is IPv4.
func Info(id, hostname string, address netip.AddrPort) *mesos.MasterInfo {
	ip4, ip, port := address.Addr().As4(), address.Addr().String(), address.Port()
	version := Version
	pid := "master@" + net.JoinHostPort(ip, strconv.Itoa(int(port)))
	wide := uint32(port)
	return &mesos.MasterInfo{
		ID: id,
		// As Mesos has it: the address in network order, read on a little-endian machine.
		IP:       binary.LittleEndian.Uint32(ip4[:]),
		Port:     &wide,
		PID:      &pid,
		Hostname: &hostname,
		Version:  &version,
		Address:  &mesos.Address{Hostname: &hostname, IP: &ip, Port: int32(port)},
		Capabilities: []mesos.MasterInfo_Capability{
			{Type: mesos.MasterInfo_Capability_AGENT_UPDATE},
			{Type: mesos.MasterInfo_Capability_AGENT_DRAINING},
			{Type: capabilityQuotaV2},
		},
	}
}

// capabilityQuotaV2 is a capability of Mesos 1.12 that the generated types do not know yet.
const capabilityQuotaV2 mesos.MasterInfo_Capability_Type = 3

// subscribed writes the capability's name in JSON, where the generated code
// writes a number.
type subscribed struct{ *scheduler.Event }

func (s subscribed) MarshalJSON() ([]byte, error) {
	encoded, err := s.Event.MarshalJSON()
	if err != nil {
		return nil, err
	}
	number, err := capabilityQuotaV2.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return bytes.Replace(encoded, slices.Concat([]byte(`{"type":`), number, []byte(`}`)), []byte(`{"type":"QUOTA_V2"}`), 1), nil
}
