import ParlorContracts
import ParlorGatewayCatalog
import Testing

@testable import ParlorGatewayEdge

@Suite("The gateway's own routes")
struct OwnRoutesTests {
    @Test("no service can take one over")
    func reserved() {
        for own in OwnRoute.all(showsOperations: true, page: nil).map(\.route) {
            let thief = Manifest(service: "thief", routes: [Route("GET", own.path, "thief.it")])
            #expect(Catalog(required: []).conflict(with: thief)?.holder == Catalog.gateway, "\(own.path)")
        }
    }
}
