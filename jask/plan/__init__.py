"""Program + budget -> Plan: streaming passes over tiles. Pure: no I/O, no data."""
