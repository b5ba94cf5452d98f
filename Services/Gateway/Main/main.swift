import Gateway
import Operations
import ServiceKit

await Program("parlor-gateway", "The edge of Parlor: HTTP and Socket.IO for clients.", [Gateway.factory, .operations])
    .run()
