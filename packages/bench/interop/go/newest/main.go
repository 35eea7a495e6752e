// The newest quic-go.
package main

import (
	"sheaf-interop/common"
	"sheaf-interop/common/tracing"
)

func main() {
	common.Main(common.Library{TracedConfig: tracing.Config})
}
