import Testing

@testable import parlor_bench

@Suite("What databases did, as metrics tell it")
struct DatabaseWorkTests {
    @Test("all services' reads and snapshots are counted, between two looks, for each client")
    func difference() {
        func look(_ rooms: Int, _ messaging: Int) -> DatabaseWork {
            DatabaseWork(
                metrics: """
                    # HELP parlor_database_reads_total Reads.
                    # TYPE parlor_database_reads_total counter
                    parlor_database_reads_total{service="rooms"} \(rooms)
                    parlor_database_reads_total{service="messaging"} \(messaging)
                    parlor_database_snapshots_total{service="rooms"} \(rooms / 2)
                    parlor_requests_total{service="rooms"} 77

                    """)
        }
        let figures = (look(1000, 200) - look(100, 50)).figures(per: 100)
        #expect(figures.map(\.value) == [10.5, 4.5])
    }

    @Test("where no database is seen, nothing is said of any")
    func none() {
        let metrics = DatabaseWork(metrics: "parlor_sockets 12\n")
        #expect((metrics - metrics).figures(per: 10).isEmpty)
    }
}
