ddl_tool(ddl-shard ddl::data ddl::cli)
