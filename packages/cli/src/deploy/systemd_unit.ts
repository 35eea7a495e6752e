import { systemdWord } from './quoting.js';

/**
 * Returns the template unit, which is the same for all nodes: `sheaf@NAME.service` runs the node NAME of
 * `/etc/sheaf/NAME.yaml`. systemd takes no comment behind a value.
 */
export function templateUnit(program: string): string {
  return `# Runs one node of Sheaf: sheaf@NAME.service runs the node NAME of /etc/sheaf/NAME.yaml.
# What differs between nodes is in sheaf@NAME.service.d. Written by \`sheaf deploy systemd\`.

[Unit]
Description=Sheaf node %i
# The addresses to listen on have to be there.
Wants=network-online.target
After=network-online.target
# Tries for ever: a node that cannot start now, may when the disk or the network is back.
StartLimitIntervalSec=0

[Service]
# The node says when its listeners are open, when it drains, and by the watchdog that its event loop turns.
Type=notify
# A process that takes over from this one (SIGUSR2, \`sheaf upgrade\`) says so itself.
NotifyAccess=all
# The colon keeps dollar signs as they are.
ExecStart=:${systemdWord(program)} up /etc/sheaf/%i.yaml --node %i
# Reads the configuration again, and keeps the old one where the new one has a fault.
ExecReload=/bin/kill -HUP $MAINPID
# The manager keeps the sockets of clients open between a process and the next one: clients wait meanwhile, and are not refused.
FileDescriptorStoreMax=1024
WatchdogSec=10s
Restart=always
# Clients retransmit within a second: a node that is back by then costs them little.
RestartSec=200ms
# SIGTERM goes to the node alone, SIGKILL at the end to everything.
KillMode=mixed

# A user that exists while the service runs. Keys reach it as credentials, and it owns no file of the machine.
DynamicUser=yes
StateDirectory=sheaf/%i
LogsDirectory=sheaf/%i
UMask=0077
# Each connection over TCP and each file that is sent takes a descriptor.
LimitNOFILE=1048576
# A core file would have the keys of all connections in it.
LimitCORE=0

${hardening}
[Install]
WantedBy=multi-user.target
`;
}

/** What the process may not do, and not see */
const hardening = `# What a node does not need, it may not do. V8 writes machine code, so MemoryDenyWriteExecute= cannot be set.
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectProc=invisible
ProcSubset=pid
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
# Netlink tells the addresses of this machine, and Unix sockets reach the service manager.
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
SystemCallArchitectures=native
# V8 protects its code by memory keys, which @system-service lacks: without @pkey Node is killed at its start.
SystemCallFilter=@system-service @pkey
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
`;
