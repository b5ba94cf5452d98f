import Gateway
import ServiceKit

await Program("parlor-gateway", "The edge of Parlor: HTTP and Socket.IO for clients.", [Gateway.factory]).run()
