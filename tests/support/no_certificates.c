/* No certificates: Criterion, which starts a process for every test, comes with a library for Git
 * that reads every certificate authority of the machine at each start. That took a quarter of the
 * time of a short test. No test speaks TLS, so this stands in for the function that reads them:
 * the file is as if it were empty. */

__attribute__((visibility("default"))) int mbedtls_x509_crt_parse_file(void *chain,
                                                                       const char *path);

int mbedtls_x509_crt_parse_file(void *chain, const char *path)
{
    (void)chain;
    (void)path;
    return 0;
}
