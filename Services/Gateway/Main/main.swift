import ParlorGateway
import ParlorOperations
import ParlorServiceKit

await Program("parlor-gateway", "The edge of Parlor: HTTP and Socket.IO for clients.", [Gateway.factory, .operations])
    .run()
