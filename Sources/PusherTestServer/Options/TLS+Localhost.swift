extension PusherTestServer.TLS {
    /// TLS for `localhost`, `127.0.0.1` and `::1`, with a certificate that is valid until 2120.
    ///
    /// **The private key is public**, because it is part of this source code. It protects nothing. The root certificate
    /// ``trustRoot`` has signed only this certificate, and the private key of the root was destroyed. Trust the root in
    /// tests only, and never install it in a system.
    public static let localhost = Self(
        certificateChain: localhostCertificate,
        privateKey: publicPrivateKey,
        trustRoot: localhostRoot
    )

    private static let localhostRoot = """
        -----BEGIN CERTIFICATE-----
        MIIBxTCCAWqgAwIBAgIBATAKBggqhkjOPQQDAjBHMRkwFwYDVQQKDBBQdXNoZXJU
        ZXN0U2VydmVyMSowKAYDVQQDDCFQdXNoZXJUZXN0U2VydmVyIHB1YmxpYyB0ZXN0
        IHJvb3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMEcxGTAXBgNV
        BAoMEFB1c2hlclRlc3RTZXJ2ZXIxKjAoBgNVBAMMIVB1c2hlclRlc3RTZXJ2ZXIg
        cHVibGljIHRlc3Qgcm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABL/vf/XL
        drgoB7mYaX0OqYFKp6RmqWsfBeyra1ZPnbgv9UEdASVpm44aG0j/dJG7G0y2YVj/
        wzqiL1zHCesqMKGjRTBDMBIGA1UdEwEB/wQIMAYBAf8CAQAwDgYDVR0PAQH/BAQD
        AgIEMB0GA1UdDgQWBBQD5kr8lhPOENwAvenAzO+IQzbEbzAKBggqhkjOPQQDAgNJ
        ADBGAiEA4CgDXNE/tf5lIf/QvaVsK0V0AxvsqIE8zevzlxVWd90CIQCa2zretrEy
        H20h1uiOKU/4JNaUdWlW6ctBWXO2hQeGVg==
        -----END CERTIFICATE-----
        """

    private static let localhostCertificate = """
        -----BEGIN CERTIFICATE-----
        MIICHjCCAcSgAwIBAgIBAjAKBggqhkjOPQQDAjBHMRkwFwYDVQQKDBBQdXNoZXJU
        ZXN0U2VydmVyMSowKAYDVQQDDCFQdXNoZXJUZXN0U2VydmVyIHB1YmxpYyB0ZXN0
        IHJvb3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMEExGTAXBgNV
        BAoMEFB1c2hlclRlc3RTZXJ2ZXIxJDAiBgNVBAMMG2xvY2FsaG9zdCAocHVibGlj
        IHRlc3Qga2V5KTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABK3HVRWSzHERyhm3
        bCgiTMeb0dGwNXC5k0xrChVxrTLGbFS3Cc9kA4udjGdXeLOpN1vCJl00QEB9mrig
        Nxje05qjgaQwgaEwDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwEwYDVR0l
        BAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFLcmJi69/Ow5Mliljwyi/Lf4cIBVMB8G
        A1UdIwQYMBaAFAPmSvyWE84Q3AC96cDM74hDNsRvMCwGA1UdEQQlMCOCCWxvY2Fs
        aG9zdIcEfwAAAYcQAAAAAAAAAAAAAAAAAAAAATAKBggqhkjOPQQDAgNIADBFAiEA
        mEdf9enTCkr3AATRDWwrucSqL2HA2IQeM+ezzmJ+JUcCIBtglfOsqoDROjoM6Xde
        3TSPd8TcH5RbBuZZNhqCqqhw
        -----END CERTIFICATE-----
        """

    // This key is public on purpose. The key is not secret and authenticates nobody, as the documentation of
    // `localhost` explains.
    private static let publicPrivateKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgOOldm51ZPpy77vtS
        KtHGUmdoMEIQzXZBh0yVFyoDT3WhRANCAAStx1UVksxxEcoZt2woIkzHm9HRsDVw
        uZNMawoVca0yxmxUtwnPZAOLnYxnV3izqTdbwiZdNEBAfZq4oDcY3tOa
        -----END PRIVATE KEY-----
        """
}
