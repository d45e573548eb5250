//! Caching: which answers may be stored, and by whom (RFC 9111).
