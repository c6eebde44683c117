if(DDL_MPI)
  ddl_tool(ddl-train ddl::train ddl::cli)
endif()
