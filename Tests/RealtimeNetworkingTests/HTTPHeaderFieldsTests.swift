import RealtimeNetworking
import TestTraits
import Testing

@Suite("Header fields", .limited) struct HTTPHeaderFieldsTests {
    @Test("a name is case-insensitive, setting replaces all fields with it, and nil removes them")
    func setting() {
        var fields: HTTPHeaderFields = ["X-Tenant": "1", "Accept": "a", "x-tenant": "2"]
        #expect(fields["X-TENANT"] == "1, 2")
        fields["x-Tenant"] = "3"
        #expect(fields.map(\.name) == ["Accept", "x-Tenant"] && fields["X-Tenant"] == "3")
        fields["ACCEPT"] = nil
        #expect(fields == ["x-Tenant": "3"] && fields["Accept"] == nil)
        fields.append(HTTPHeader(name: "X-Tenant", value: "4"))
        #expect(fields.map(\.value) == ["3", "4"] && fields["x-tenant"] == "3, 4")
    }
}
