module sheaf-interop/common

go 1.23

require (
	github.com/quic-go/quic-go v0.53.0
	github.com/quic-go/webtransport-go v0.9.0
	sheaf-interop/shared v0.0.0
)

require (
	github.com/quic-go/qpack v0.5.1 // indirect
	go.uber.org/mock v0.5.0 // indirect
	golang.org/x/crypto v0.26.0 // indirect
	golang.org/x/mod v0.18.0 // indirect
	golang.org/x/net v0.28.0 // indirect
	golang.org/x/sync v0.8.0 // indirect
	golang.org/x/sys v0.23.0 // indirect
	golang.org/x/text v0.17.0 // indirect
	golang.org/x/tools v0.22.0 // indirect
)

replace sheaf-interop/shared => ../shared
