import PusherTestServer
import XCTest

final class OrdersTests: XCTestCase {
    private let server = PusherTestServer()

    override func setUp() async throws { try await server.start() }

    override func tearDown() async throws { await server.shutdown() }

    func testOrdersAppear() async throws {
        let key = server.options.application.key
        let app = MyApp(host: server.host, port: server.port, useTLS: server.usesTLS, key: key)
        try await server.waitForSubscription(to: "orders")
        try server.publish(event: "created", data: #"{"id":1}"#, to: "orders")
        let order = await app.nextOrder()
        XCTAssertEqual(order, 1)
    }
}
